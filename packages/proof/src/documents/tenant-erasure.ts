// Off-boarding certificates: that a tenant's keys were destroyed, and the offline verification.
import type { JsonObject } from '../core/canonical.ts'
import { toBase64 } from '../core/encoding.ts'
import type { PublishedKey } from '../core/keys.ts'
import { findMismatch, isCount, isObject, isText, isTextList, orNull } from '../core/shape.ts'
import { signedBytes, tryBytes } from '../core/signature.ts'
import {
  addCheck,
  checkSignature,
  finishVerdict,
  malformedVerdict,
  startVerdict,
  type Verdict,
  type VerdictDraft,
} from '../core/verdict.ts'
import { verifyEpoch } from '../log/log-proof.ts'
import { parseCheckpoint } from '../log/note.ts'

/** The `record_kind` of a certificate. The domain of the signature is `custos/<kind>/v1`. */
export const TENANT_ERASURE_KIND = 'tenant_erasure'

/** The signed members of an off-boarding certificate. Times are RFC 3339. */
export type TenantErasureStatement = {
  readonly record_kind: typeof TENANT_ERASURE_KIND
  readonly certificate_id: string
  readonly tenant_id: string
  /** Counts of what the tenant had when the keys were destroyed. */
  readonly counts: Readonly<Record<string, number>>
  /** The destroyed things, each with the status that was observed afterwards. */
  readonly destroyed: Readonly<Record<string, string>>
  /** The checks that ran after the destruction. */
  readonly verification: {
    readonly ran_at: string
    readonly paths: readonly { readonly path: string; readonly result: string }[]
  }
  /** The checkpoint of the log up to its last entry, `log_seq`, which records the destruction. */
  readonly last_checkpoint: {
    readonly epoch_number: number
    readonly tree_size: number
    /** Root of the log's Merkle tree in hex. */
    readonly root_hash: string
    /** The checkpoint as a signed note. */
    readonly checkpoint: string
  }
  /** What was not destroyed. */
  readonly remains: readonly string[]
  /** What the certificate does not claim. */
  readonly limits: readonly string[]
  readonly legal_basis: string
  readonly requested_by: string | null
  readonly erasure_requested_at: string
  readonly erasure_completed_at: string
  readonly log_seq: number
}

/** The message of a certificate's signature. Throws ProofError `not_canonical`. */
export const tenantErasureBytes = (value: TenantErasureStatement | JsonObject): Uint8Array =>
  signedBytes(TENANT_ERASURE_KIND, value)

const SHAPE = {
  record_kind: (value: unknown) => value === TENANT_ERASURE_KIND,
  certificate_id: isText,
  tenant_id: isText,
  counts: (value: unknown) => isObject(value) && Object.values(value).every(isCount),
  destroyed: (value: unknown) => isObject(value) && Object.values(value).every(isText),
  verification: isObject,
  last_checkpoint: isObject,
  remains: isTextList,
  limits: isTextList,
  legal_basis: isText,
  requested_by: orNull(isText),
  erasure_requested_at: isText,
  erasure_completed_at: isText,
  log_seq: isCount,
}

/**
 * Verifies a certificate with the published keys. The signed bytes follow from the record, and an
 * erasure key that was valid then signed them. The checkpoint is signed, is of the tenant's log and
 * ends with the entry that records the destruction. Everything called destroyed was checked, and
 * none of it was present. It proves who stated this and when, not that the statement is true.
 * Never throws.
 */
export async function verifyTenantErasure(
  value: unknown,
  keys: readonly PublishedKey[],
): Promise<Verdict> {
  if (!isObject(value)) return malformedVerdict(TENANT_ERASURE_KIND, 'not an object')
  const misfit = findMismatch(value, SHAPE)
  if (misfit !== null) return malformedVerdict(TENANT_ERASURE_KIND, misfit)
  const message = tryBytes(() => tenantErasureBytes(value))
  if (message === null) return malformedVerdict(TENANT_ERASURE_KIND, 'no canonical form')

  const findings = startVerdict()
  const shown = value['signed_bytes'] ?? null
  if (shown !== null)
    addCheck(findings, 'signed_bytes', shown === toBase64(message), 'do not follow from the record')
  const { signature, public_key, key_id } = value
  const claim = { message, signature, public_key, key_id, purpose: 'erasure' } as const
  await checkSignature(findings, { ...claim, at: String(value['erasure_completed_at']) }, keys)
  await checkCheckpoint(findings, value, keys)
  addCheck(findings, 'observed', observedAll(value), 'something is present, or destroyed unseen')
  findings.notChecked.push('that no other copy of the keys is left: see limits')
  return finishVerdict(TENANT_ERASURE_KIND, findings)
}

async function checkCheckpoint(
  findings: VerdictDraft,
  value: JsonObject,
  keys: readonly PublishedKey[],
): Promise<void> {
  const last = value['last_checkpoint']
  const verdict = await verifyEpoch(last, { keys })
  addCheck(findings, 'last_checkpoint', verdict.valid, verdict.reason)
  findings.validWith.push(...verdict.valid_with)
  const ends = isObject(last) && last['tree_size'] === Number(value['log_seq']) + 1
  addCheck(findings, 'closes_log', ends, 'the checkpoint does not end with the entry of the record')
  const own = isObject(last) && isLogOf(last['checkpoint'], String(value['tenant_id']))
  addCheck(findings, 'log_of_tenant', own, 'the checkpoint is of another log')
}

/** Whether a note's origin is `<origin>/<tenant_id>`, or that with `/1`, `/2` … after restores. */
export function isLogOf(checkpoint: unknown, tenant_id: string): boolean {
  try {
    const { origin } = parseCheckpoint(String(checkpoint))
    return [origin, origin.replace(/\/[1-9]\d*$/, '')].some((one) => one.endsWith(`/${tenant_id}`))
  } catch {
    return false
  }
}

/** Whether `destroyed` and the checked paths agree, and none of them was `present`. */
function observedAll({ destroyed, verification }: JsonObject): boolean {
  const paths = isObject(verification) ? verification['paths'] : null
  if (!isObject(destroyed) || !Array.isArray(paths)) return false
  const agrees = (path: unknown) =>
    isObject(path) &&
    isText(path['path']) &&
    isText(path['result']) &&
    path['result'] !== 'present' &&
    destroyed[path['path']] === path['result']
  const named = new Set(paths.map((path) => (isObject(path) ? path['path'] : null)))
  return paths.every(agrees) && Object.keys(destroyed).every((path) => named.has(path))
}
