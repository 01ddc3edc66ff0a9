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
 * Digests become 64 lower-case hex characters. Members of the contract that are null are left out,
 * so that an absent value has one form. Other members stay as they are.
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

// Parsed from a body, so all it holds is JSON.
const isJsonList = (value: unknown): value is readonly Json[] => Array.isArray(value)
