// Verdicts: the named checks of a document, and the signature check that all documents share.
import { readBase64, toHex } from './encoding.ts'
import { findKey, type KeyPurpose, type PublishedKey } from './keys.ts'
import { isText } from './shape.ts'
import { verifyEd25519 } from './signature.ts'

export type Check = { readonly name: string; readonly ok: boolean; readonly detail?: string }

/**
 * The result of a verification. `valid` is true if every check passed. `not_checked` names what
 * the document alone cannot show. `valid_with` has the ids of the published keys that signed.
 */
export type Verdict = {
  readonly valid: boolean
  readonly type: string
  readonly checks: readonly Check[]
  readonly not_checked: readonly string[]
  readonly valid_with: readonly string[]
  /** The first failed check with its detail; absent when valid. */
  readonly reason?: string
}

/** A verdict under construction: checks are added, then `finishVerdict` returns the verdict. */
export type VerdictDraft = {
  readonly checks: Check[]
  readonly notChecked: string[]
  readonly validWith: string[]
}

export function startVerdict(): VerdictDraft {
  return { checks: [], notChecked: [], validWith: [] }
}

/** Records one check; `detail` is kept only when it fails. Returns `ok`. */
export function addCheck(
  findings: VerdictDraft,
  name: string,
  ok: boolean,
  detail?: string,
): boolean {
  findings.checks.push(ok || detail === undefined ? { name, ok } : { name, ok, detail })
  return ok
}

/** Builds the verdict from the added checks. Without any check it is invalid. */
export function finishVerdict(type: string, findings: VerdictDraft): Verdict {
  const { checks, notChecked } = findings
  const failed = checks.find((check) => !check.ok)
  const shared = { type, checks, not_checked: notChecked, valid_with: findings.validWith }
  if (failed === undefined && checks.length > 0) return { valid: true, ...shared }
  const reason = failed === undefined ? 'nothing to check' : reasonOf(failed)
  return { valid: false, ...shared, reason }
}

function reasonOf(check: Check): string {
  return check.detail === undefined ? check.name : `${check.name}: ${check.detail}`
}

/** The verdict on a value that does not have the form of the stated type. */
export function malformedVerdict(type: string, detail: string): Verdict {
  const findings = startVerdict()
  addCheck(findings, 'malformed', false, detail)
  return finishVerdict(type, findings)
}

/**
 * Adds two checks: `signature` (the key in the record signed the bytes) and `key_known` (that key
 * is published for this purpose and time). Only both together prove anything, because anyone can
 * sign with a key of their own.
 * @param claim a signature as a record carries it: base64 values, still unread
 */
export async function checkSignature(
  findings: VerdictDraft,
  claim: {
    readonly message: Uint8Array
    readonly signature: unknown
    readonly public_key: unknown
    readonly key_id: unknown
    readonly purpose: KeyPurpose
    /** The time, in RFC 3339, at which the key must have been valid. */
    readonly at?: string
  },
  keys: readonly PublishedKey[],
): Promise<void> {
  const [signature, publicKey] = [readBase64(claim.signature), readBase64(claim.public_key)]
  if (signature === null || publicKey === null) {
    const absent = (claim.signature ?? null) === null || (claim.public_key ?? null) === null
    addCheck(findings, 'signature', false, absent ? 'unsigned' : 'not base64')
    return
  }
  const signed = await verifyEd25519(publicKey, claim.message, signature)
  addCheck(findings, 'signature', signed, 'does not match the record')
  const key = findKey(keys, {
    public_key: toHex(publicKey),
    purpose: claim.purpose,
    ...(isText(claim.key_id) ? { key_id: claim.key_id } : {}),
    ...(claim.at === undefined ? {} : { at: claim.at }),
  })
  if (isText(key)) {
    addCheck(findings, 'key_known', false, key)
    return
  }
  addCheck(findings, 'key_known', true)
  if (signed) findings.validWith.push(key.key_id)
}
