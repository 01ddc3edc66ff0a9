// The identity of an agent: its key, the did of that key, and signed proof of possession.
import type { Json, JsonObject } from '../core/canonical.ts'
import { concatBytes, fromHex, readHex, toHex } from '../core/encoding.ts'
import { ProofError } from '../core/errors.ts'
import { toMicroseconds } from '../core/keys.ts'
import { findMismatch, isObject, isText, optional, orNull } from '../core/shape.ts'
import { signedBytes, verifyEd25519 } from '../core/signature.ts'
import {
  addCheck,
  finishVerdict,
  malformedVerdict,
  startVerdict,
  type Verdict,
} from '../core/verdict.ts'

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
/** The multicodec of an Ed25519 public key, as a varint. */
const ED25519_CODEC = Uint8Array.of(0xed, 0x01)
const DID_KEY = 'did:key:z'

/**
 * The encodings of the points of small order, without the sign bit. Such a key proves nothing: by
 * RFC 8032 a verifier may accept signatures under it that anybody can make.
 */
const WEAK_KEYS: ReadonlySet<string> = new Set([
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  `ec${'ff'.repeat(30)}7f`,
  `ed${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(30)}7f`,
])

/** Whether a value is an Ed25519 public key that is not weak, in 64 lower-case hex characters. */
export function isAgentKey(value: unknown): value is string {
  const bytes = readHex(value)
  if (bytes?.length !== 32) return false
  bytes[31] = (bytes[31] ?? 0) & 0x7f
  return !WEAK_KEYS.has(toHex(bytes))
}

/** The did:key of a public key in hex. Throws ProofError `malformed_encoding` for other text. */
export function didKeyOf(key: string): string {
  const bytes = fromHex(key)
  if (bytes.length !== 32) throw new ProofError('malformed_encoding', 'not an Ed25519 key')
  let value = BigInt(`0x${toHex(concatBytes(ED25519_CODEC, bytes))}`)
  let text = ''
  for (; value > 0n; value /= 58n) text = BASE58.charAt(Number(value % 58n)) + text
  return DID_KEY + text
}

/** The public key of a did:key, in hex; null if it is not the did:key of an Ed25519 key. */
export function keyOfDid(did: unknown): string | null {
  // 34 bytes that begin with 0xed are 47 or 48 digits.
  if (!isText(did) || !did.startsWith(DID_KEY) || did.length > DID_KEY.length + 48) return null
  let value = 0n
  for (const digit of did.slice(DID_KEY.length)) {
    const at = BASE58.indexOf(digit)
    if (at < 0) return null
    value = value * 58n + BigInt(at)
  }
  const codec = toHex(ED25519_CODEC)
  const hex = value.toString(16)
  const key = hex.slice(codec.length)
  return hex.startsWith(codec) && key.length === 64 && didKeyOf(key) === did ? key : null
}

/**
 * What an agent signs of a decision: everything that a score depends on, as recorded (with
 * defaults), and the time. Reason, context and model are not signed, because they may be erased.
 */
export type CgrDecisionStatement = {
  readonly tenant_id: string
  readonly agent_key: string
  readonly agent_handle: string
  readonly decision: string
  readonly verifiability_tag: string
  readonly dimension: string
  /** The invoice id as the caller gives it, not a pseudonym. */
  readonly invoice_id: string | null
  /** RFC 3339 time. An older statement never replaces a newer one on the same referent. */
  readonly signed_at: string
}

/** What the reporter of an outcome signs; a field that was left out is `null`. */
export type CgrOutcomeStatement = {
  readonly tenant_id: string
  readonly reporter_key: string
  readonly invoice_ref: string
  /** The recorded dimension; a statement with null is valid for any dimension. */
  readonly dimension: string | null
  readonly outcome: string
  readonly outcome_date: string | null
  readonly amount_recovered: number | null
  readonly source: string
  readonly signed_at: string
}

const HOLDER = 'who holds the key: no list of agents is part of the record'

const isTime = (value: unknown): boolean => isText(value) && !Number.isNaN(toMicroseconds(value))

const DECISION_SHAPE = {
  tenant_id: isText,
  agent_key: isAgentKey,
  agent_handle: isText,
  decision: isText,
  verifiability_tag: isText,
  dimension: isText,
  invoice_id: orNull(isText),
  signed_at: isTime,
}

const OUTCOME_SHAPE = {
  tenant_id: isText,
  reporter_key: isAgentKey,
  invoice_ref: isText,
  dimension: optional(isText),
  outcome: isText,
  outcome_date: orNull(isText),
  amount_recovered: orNull((value) => typeof value === 'number'),
  source: isText,
  signed_at: isTime,
}

const KINDS = {
  cgr_decision: { shape: DECISION_SHAPE, signer: 'agent_key' },
  cgr_outcome: { shape: OUTCOME_SHAPE, signer: 'reporter_key' },
} as const
export type StatementKind = keyof typeof KINDS

export function isStatementKind(kind: unknown): kind is StatementKind {
  return isText(kind) && Object.hasOwn(KINDS, kind)
}

/**
 * The exact signed message: UTF-8 `custos/cgr_decision/v1`, byte 0x0A, RFC 8785 bytes of the eight
 * members and nothing else. Throws ProofError `not_canonical`.
 */
export function cgrDecisionBytes(statement: CgrDecisionStatement | JsonObject): Uint8Array {
  return signedBytes('cgr_decision', membersOf(statement, DECISION_SHAPE))
}

/** The signed message of an outcome, in the same form under `custos/cgr_outcome/v1`. */
export function cgrOutcomeBytes(statement: CgrOutcomeStatement | JsonObject): Uint8Array {
  return signedBytes('cgr_outcome', membersOf(statement, OUTCOME_SHAPE))
}

function membersOf(from: object, shape: object): JsonObject {
  const given = new Map<string, Json>(Object.entries(from))
  return Object.fromEntries(
    Object.keys(shape).map((name): [string, Json] => [name, given.get(name) ?? null]),
  )
}

/** Why a statement is not proven: its form, or that the key it names has not signed it. */
export type StatementProblem = 'malformed' | 'signature'

/** Verifies that the key in the statement signed it. `signature` is hex. Never throws. */
export async function checkStatement(
  kind: StatementKind,
  statement: unknown,
  signature: unknown,
): Promise<StatementProblem | null> {
  const { shape, signer } = KINDS[kind]
  if (!isObject(statement) || findMismatch(statement, shape) !== null) return 'malformed'
  const [key, signed] = [readHex(statement[signer]), readHex(signature)]
  if (key === null || signed === null) return 'malformed'
  let message: Uint8Array
  try {
    message = signedBytes(kind, membersOf(statement, shape))
  } catch {
    return 'malformed'
  }
  return (await verifyEd25519(key, message, signed)) ? null : 'signature'
}

/** The verdict on a statement with its `signature`, as a record. */
export async function verifyStatement(kind: StatementKind, statement: unknown): Promise<Verdict> {
  const signature = isObject(statement) ? statement['signature'] : undefined
  const problem = await checkStatement(kind, statement, signature)
  if (problem === 'malformed')
    return malformedVerdict(kind, 'not a statement and its signature in hex')
  const findings = startVerdict()
  addCheck(findings, 'signature', problem === null, 'is not that of the key named')
  findings.notChecked.push(HOLDER)
  return finishVerdict(kind, findings)
}
