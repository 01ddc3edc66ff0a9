// The normal form of landing requests: one spelling for each digest, no null members, no bytes.

import {
  type ConformanceRequest,
  type IssueLandingRequest,
  limits,
  PROVENANCE_BYTES_MAX,
} from '@custos/contract'
import {
  isObject,
  type JsonObject,
  type LandingRequest,
  type LayerBytes,
  toHex,
} from '@custos/proof'
import { jsonByteLength } from '../../platform/bytes.ts'
import { sha256 } from '../gcrumbs/index.ts'
import {
  type ClaimedAuthority,
  claimedAuthority,
  normalizeDigest,
  rejection,
} from '../records/index.ts'
import { UNSEALED } from './conformance.ts'

export type NormalLandingRequest = LandingRequest & { readonly authority: ClaimedAuthority }

const KIND_DEFAULT = 'lora+rag'
const DIGEST = /^(sha256:)?[0-9a-fA-F]{64}$/
const isDigest = (value: unknown): value is string =>
  typeof value === 'string' && DIGEST.test(value)

/** Refuses what is unsealed, or too long to be signed. */
export function normalizeLanding(body: IssueLandingRequest): NormalLandingRequest {
  const { artifact_ref, base_model_ref, kind, conformance, permitted_actions } = body
  const subject = normalizeSubject(body)
  const { merkle_root } = subject.data_provenance
  if (typeof merkle_root !== 'string') throw rejection([UNSEALED])
  const given = isObject(conformance) ? conformance : {}
  // A caller who claims nothing checked nothing: certificates always carry a result.
  const claimed_conformance = { ...given, result: given['result'] ?? 'not_checked' }
  if (jsonByteLength(claimed_conformance) > limits.metadata_bytes)
    throw rejection([`conformance is longer than ${limits.metadata_bytes} bytes`])
  return {
    artifact_ref,
    base_model_ref,
    kind: kind ?? KIND_DEFAULT,
    ...subject,
    data_provenance: { ...subject.data_provenance, merkle_root },
    authority: claimedAuthority(body.authority),
    claimed_conformance,
    permitted_actions,
  }
}

/** The members that `landing.issue` and `landing.conformance` share. */
export function normalizeSubject({
  layer_hashes,
  layer_bytes,
  data_provenance,
}: Pick<ConformanceRequest, 'layer_hashes' | 'layer_bytes' | 'data_provenance'>) {
  const hashes = layer_hashes.map(normalizeDigest)
  return {
    layer_hashes: hashes,
    layer_bytes: compareBytes(hashes, layer_bytes ?? null),
    data_provenance: normalizeProvenance(data_provenance),
  }
}

/** Without a root where none is given, or what is given is not one. */
function normalizeProvenance(given: ConformanceRequest['data_provenance']): JsonObject {
  const { merkle_root, corpus_hash, ...more } = given
  const stated = Object.entries(more).filter(([, value]) => value !== null && value !== undefined)
  const members = Object.fromEntries(stated)
  const provenance = {
    ...(isObject(members) ? members : {}),
    ...(isDigest(merkle_root) ? { merkle_root: normalizeDigest(merkle_root) } : {}),
    ...(corpus_hash ? { corpus_hash: normalizeDigest(corpus_hash) } : {}),
  }
  if (jsonByteLength(provenance) > PROVENANCE_BYTES_MAX)
    throw rejection([`data_provenance is longer than ${PROVENANCE_BYTES_MAX} bytes`])
  return provenance
}

/** Another number of layers than of digests never matches. */
function compareBytes(hashes: readonly string[], sent: readonly string[] | null): LayerBytes {
  if (sent === null) return 'not_sent'
  if (sent.length !== hashes.length) return 'differ'
  const match = sent.every((text, i) => toHex(sha256(Buffer.from(text, 'base64'))) === hashes[i])
  return match ? 'match' : 'differ'
}
