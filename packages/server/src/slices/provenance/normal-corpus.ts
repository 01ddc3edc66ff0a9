// The normal form of a corpus: what is hashed and signed of a request.

import type { RegisterCorpusRequest } from '@custos/contract'
import type { Corpus, CorpusSource, Json, JsonObject } from '@custos/proof'

const DIGEST_CHARS = 64

/**
 * Digests become 64 lower-case hex characters; members that are null and have a meaning of ours
 * are left out, so that saying nothing has one form. Other members stay as they are.
 */
export function normalizeCorpus(body: RegisterCorpusRequest): Corpus {
  const { name, sources, attestations, processing, metadata } = body
  return {
    name,
    sources: sources.map(normalizeSource),
    attestations: isJsonObject(attestations) ? attestations : {},
    processing: isJsonList(processing) ? processing : [],
    metadata: isJsonObject(metadata) ? metadata : {},
  }
}

type Source = RegisterCorpusRequest['sources'][number]

function normalizeSource(source: Source): CorpusSource {
  const { id, license, lawful_basis, content_hash, record_count, ...more } = source
  return {
    ...(isJsonObject(more) ? more : {}),
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
function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isJsonList(value: unknown): value is readonly Json[] {
  return Array.isArray(value)
}
