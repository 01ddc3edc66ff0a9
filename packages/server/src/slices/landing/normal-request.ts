// The normal form of a request: one spelling for each digest, nothing that is null, no bytes.

import {
  type ConformanceRequest,
  type IssueLandingRequest,
  limits,
  PROVENANCE_BYTES_MAX,
} from '@custos/contract'
import {
  type JsonObject,
  type LandingProvenance,
  type LandingRequest,
  type LayerBytes,
  toHex,
} from '@custos/proof'
import { Refusal } from '../../platform/refusal.ts'
import { sha256 } from '../gcrumbs/index.ts'
import { claimedAuthority, normalDigest } from '../records/index.ts'

const KIND_DEFAULT = 'lora+rag'
const DIGEST = /^(sha256:)?[0-9a-fA-F]{64}$/

export const rejected = (reasons: readonly string[]): Refusal =>
  new Refusal('rejected', undefined, { detail: { status: 'rejected', reasons } })

/** Refuses what is unsealed, or too long to be signed. */
export function normalLanding(body: IssueLandingRequest): LandingRequest {
  const { artifact_ref, base_model_ref, kind, conformance, permitted_actions } = body
  const claimed_conformance = isJsonObject(conformance) ? conformance : {}
  if (bytesOf(claimed_conformance) > limits.metadata_bytes)
    throw rejected([`conformance is longer than ${limits.metadata_bytes} bytes`])
  return {
    artifact_ref,
    base_model_ref,
    kind: kind ?? KIND_DEFAULT,
    ...normalSubject(body),
    authority: claimedAuthority(body.authority),
    claimed_conformance,
    permitted_actions,
  }
}

/** What both operations look at. */
export function normalSubject({
  layer_hashes,
  layer_bytes,
  data_provenance,
}: Pick<ConformanceRequest, 'layer_hashes' | 'layer_bytes' | 'data_provenance'>) {
  const hashes = layer_hashes.map(normalDigest)
  return {
    layer_hashes: hashes,
    layer_bytes: compareBytes(hashes, layer_bytes ?? null),
    data_provenance: normalProvenance(data_provenance),
  }
}

function normalProvenance(given: ConformanceRequest['data_provenance']): LandingProvenance {
  const { merkle_root, corpus_hash, ...more } = given
  if (typeof merkle_root !== 'string' || !DIGEST.test(merkle_root))
    throw rejected(['data_provenance is unsealed: its merkle_root is not 64 hex characters'])
  const stated = Object.entries(more).filter(([, value]) => value !== null && value !== undefined)
  const members = Object.fromEntries(stated)
  const provenance = {
    ...(isJsonObject(members) ? members : {}),
    merkle_root: normalDigest(merkle_root),
    ...(corpus_hash ? { corpus_hash: normalDigest(corpus_hash) } : {}),
  }
  if (bytesOf(provenance) > PROVENANCE_BYTES_MAX)
    throw rejected([`data_provenance is longer than ${PROVENANCE_BYTES_MAX} bytes`])
  return provenance
}

/** Fewer bytes than digests never pass, and neither do more. */
function compareBytes(hashes: readonly string[], sent: readonly string[] | null): LayerBytes {
  if (sent === null) return 'not_sent'
  if (sent.length !== hashes.length) return 'differ'
  const match = sent.every((text, i) => digestOf(Buffer.from(text, 'base64')) === hashes[i])
  return match ? 'match' : 'differ'
}

const digestOf = (bytes: Uint8Array): string => toHex(sha256(bytes))

const bytesOf = (value: JsonObject): number => Buffer.byteLength(JSON.stringify(value))

// Parsed from a body, so all it holds is JSON.
function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
