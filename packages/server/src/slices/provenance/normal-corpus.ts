// The normal form of a corpus: the members of a request that are hashed and signed.

import type { RegisterCorpusRequest } from '@custos/contract'
import {
  type CorpusContent,
  type CorpusSource,
  isObject,
  type Json,
  type JsonObject,
} from '@custos/proof'

const DIGEST_CHARS = 64

/**
 * Normalizes a corpus. Digests become 64 lowercase hex characters. Null members of the contract are
 * dropped, so that an absent value has one form. Other members stay unchanged.
 */
export function normalizeCorpus(body: RegisterCorpusRequest): CorpusContent {
  const { name, sources, attestations, processing, metadata } = body
  return {
    name,
    sources: sources.map(normalizeSource),
    attestations: isObject(attestations) ? attestations : {},
    processing: isJsonList(processing) ? processing : [],
    metadata: isObject(metadata) ? metadata : {},
  }
}

function normalizeSource(source: RegisterCorpusRequest['sources'][number]): CorpusSource {
  const { id, license, lawful_basis, content_hash, record_count, ...more } = source
  return {
    ...(isObject(more) ? more : {}),
    id,
    ...optionalMember('license', license),
    ...optionalMember('lawful_basis', lawful_basis),
    ...optionalMember('content_hash', content_hash?.slice(-DIGEST_CHARS).toLowerCase()),
    ...optionalMember('record_count', record_count),
  }
}

const optionalMember = (name: string, value: Json | undefined): JsonObject =>
  value === undefined || value === null ? {} : { [name]: value }

// The value was parsed from a JSON body, so a list contains only JSON.
const isJsonList = (value: unknown): value is readonly Json[] => Array.isArray(value)
