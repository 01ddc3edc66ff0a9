// Execution receipts: their id, which is derived from hashes of what was done, and its signature.
import type { Json, JsonObject } from '../core/canonical.ts'
import { blake2b128, blake2b256 } from '../core/digest.ts'
import { fromHex, readBase64, readHex, toHex, utf8 } from '../core/encoding.ts'
import { ProofError } from '../core/errors.ts'
import { findKey, type PublishedKey } from '../core/keys.ts'
import { isCount, isObject, isText, isTextList, optional } from '../core/shape.ts'
import { verifyEd25519 } from '../core/signature.ts'
import {
  addCheck,
  checkSignature,
  finishVerdict,
  malformedVerdict,
  startVerdict,
  type Verdict,
} from '../core/verdict.ts'

/** The purpose of the key that signs ids of receipts and nothing else. */
export const RECEIPT_PURPOSE = 'receipt'

/** The members that a receipt id covers, in this order. */
const PARTS = {
  step_id: isText,
  workflow_id: isText,
  tenant_id: isText,
  step_number: isCount,
  previous_receipt_hash: optional(isText),
  input_hash: isText,
  memory_snapshot_hash: isText,
  policy_evaluation_hash: isText,
  model_id: isText,
  model_version: optional(isText),
  tool_call_hashes: isTextList,
  output_hash: isText,
  decision_id: optional(isText),
  started_at: isTime,
  completed_at: isTime,
} as const

const SEPARATOR = '\u001f'
const TIME = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/

function isTime(value: unknown): boolean {
  return isText(value) && TIME.test(value)
}

/**
 * Writes JSON like Python's `json.dumps(value, sort_keys=True)`: `", "` and `": "` between items,
 * keys by code point, everything beyond ASCII escaped. Numbers are written like in ECMAScript.
 */
export function pythonJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(', ')}]`
  if (!isObject(value)) return escapeText(JSON.stringify(value))
  const members = Object.keys(value)
    .toSorted(compareCodePoints)
    .map((key) => `${escapeText(JSON.stringify(key))}: ${pythonJson(value[key] ?? null)}`)
  return `{${members.join(', ')}}`
}

const escapeText = (text: string): string =>
  text.replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

function compareCodePoints(a: string, b: string): number {
  const [first, second] = [toHex(utf8(a)), toHex(utf8(b))]
  return first < second ? -1 : Number(first > second)
}

/** Hex BLAKE2b-256 of the UTF-8 text: the hash of inputs, outputs and policy logs in receipts. */
export function textHash(text: string): string {
  return toHex(blake2b256(utf8(text)))
}

/**
 * The id of a receipt: 32 hex characters, BLAKE2b-128 of fifteen UTF-8 parts joined by the byte
 * 0x1F. An absent part is empty. Lists are JSON and times are text in the forms of Python: `+00:00`
 * for `Z`, six digits or no fraction. Throws ProofError `malformed_encoding` with the name of an
 * invalid part.
 */
export function receiptId(receipt: JsonObject): string {
  return toHex(blake2b128(utf8(receiptParts(receipt).join(SEPARATOR))))
}

function receiptParts(receipt: JsonObject): string[] {
  return Object.entries(PARTS).map(([name, fits]) => {
    const value = receipt[name] ?? null
    const text = fits(value) ? partText(name, value) : null
    // A separator within a part would let two receipts have one id.
    if (text === null || text.includes(SEPARATOR)) throw new ProofError('malformed_encoding', name)
    return text
  })
}

function partText(name: string, value: Json): string {
  if (value === null) return ''
  if (isText(value)) return name.endsWith('_at') ? pythonTime(value) : value
  return pythonJson(value)
}

/** Writes a time like Python's `datetime.isoformat()`. */
function pythonTime(time: string): string {
  const [, second = '', given = '', zone = ''] = TIME.exec(time) ?? []
  const fraction = given.padEnd(6, '0').slice(0, 6)
  const offset = zone === 'Z' || zone === '-00:00' ? '+00:00' : zone
  return `${second}${Number(fraction) === 0 ? '' : `.${fraction}`}${offset}`
}

/** The `previous_receipt_hash` of the receipt that follows the one with this id. */
export const previousReceiptHash = (receipt_id: string): string => textHash(receipt_id)

const HASHED = 'what was hashed: compare input, output and policy log with their hashes'
const BEFORE = 'the receipts before it: previous_receipt_hash names the last of them'

/**
 * Verifies one receipt with the published keys: its id is recomputed, and a key with the purpose
 * `receipt` signed it. Never throws.
 */
export async function verifyReceipt(
  receipt: unknown,
  keys: readonly PublishedKey[],
): Promise<Verdict> {
  if (!isObject(receipt)) return malformedVerdict('receipt', 'not an object')
  const findings = startVerdict()
  const { receipt_id, completed_at } = receipt
  const message = readHex(receipt_id)
  if (message === null) return malformedVerdict('receipt', 'receipt_id')
  const computed = tryReceiptId(receipt)
  if (!('receipt_id' in computed)) return malformedVerdict('receipt', computed.misfit)
  const follows = computed.receipt_id === receipt_id
  addCheck(findings, 'receipt_id', follows, 'a field was altered')
  const { signature, public_key, key_id } = receipt
  const claim = { message, signature, public_key, key_id, purpose: RECEIPT_PURPOSE }
  await checkSignature(
    findings,
    isText(completed_at) ? { ...claim, at: completed_at } : claim,
    keys,
  )
  findings.notChecked.push(HASHED, BEFORE)
  return finishVerdict('receipt', findings)
}

function tryReceiptId(receipt: JsonObject): { receipt_id: string } | { misfit: string } {
  try {
    return { receipt_id: receiptId(receipt) }
  } catch (error) {
    return { misfit: error instanceof Error ? error.message : '' }
  }
}

/** The result for one receipt of a list; `valid` only with a supplied or published key. */
export type ReceiptResult = {
  readonly index: number
  readonly receipt_id: string | null
  readonly valid: boolean
  readonly reason: string
  /**
   * The source of the signing key: supplied by the verifier, published by the service, or only in
   * the receipt itself, where it proves nothing. Null if the signature was not verified.
   */
  readonly signed_by: 'supplied' | 'published' | 'self_signed' | null
  /** Id of the published key that signed; null if none did. */
  readonly key_id: string | null
}

/**
 * Verifies each receipt with the supplied key, or without one with the key in the receipt.
 * @param supplied an Ed25519 public key of 32 bytes
 */
export async function checkReceipts(
  receipts: readonly unknown[],
  supplied: Uint8Array | null,
  keys: readonly PublishedKey[],
): Promise<ReceiptResult[]> {
  const results: ReceiptResult[] = []
  for (const [index, receipt] of receipts.entries()) {
    const named = isObject(receipt) && isText(receipt['receipt_id']) ? receipt['receipt_id'] : null
    const checked = await checkReceipt(receipt, supplied, keys)
    results.push({ index, receipt_id: named, signed_by: null, key_id: null, ...checked })
  }
  return results
}

const invalid = (reason: string) => ({ valid: false, reason })

async function checkReceipt(
  receipt: unknown,
  supplied: Uint8Array | null,
  keys: readonly PublishedKey[],
): Promise<Pick<ReceiptResult, 'valid' | 'reason'> & Partial<ReceiptResult>> {
  if (!isObject(receipt)) return invalid('could not recompute receipt_id: not an object')
  const computed = tryReceiptId(receipt)
  if ('misfit' in computed) return invalid(`could not recompute receipt_id: ${computed.misfit}`)
  if (computed.receipt_id !== receipt['receipt_id'])
    return invalid('receipt_id mismatch: a field was altered')
  const signature = readBase64(receipt['signature'])
  if (signature === null) return invalid('unsigned')
  const key = supplied ?? readBase64(receipt['public_key_b64'] ?? receipt['public_key'])
  if (key === null) return invalid('no public key supplied')
  const message = fromHex(computed.receipt_id)
  if (!(await verifyEd25519(key, message, signature))) return invalid('signature does not verify')
  const at = String(receipt['completed_at'])
  const found = findKey(keys, { public_key: toHex(key), purpose: RECEIPT_PURPOSE, at })
  const key_id = isText(found) ? null : found.key_id
  if (supplied === null && key_id === null)
    return { ...invalid('signed by a key that only the receipt names'), signed_by: 'self_signed' }
  const signed_by = supplied === null ? 'published' : 'supplied'
  return { valid: true, reason: 'signature valid and receipt_id intact', signed_by, key_id }
}
