// Keys of approvers and agents, made from fixed seeds: the test signs by them years later.

import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'

/** What precedes the 32 bytes of a seed in PKCS #8 (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')

export class AgentKey {
  /** 32 bytes in hex. */
  readonly public_key: string
  readonly #secret: KeyObject

  /** @param seed two hex digits, which the whole seed repeats */
  constructor(seed: string) {
    const key = Buffer.concat([PKCS8, Buffer.from(seed.repeat(32), 'hex')])
    this.#secret = createPrivateKey({ key, format: 'der', type: 'pkcs8' })
    const spki = createPublicKey(this.#secret).export({ format: 'der', type: 'spki' })
    this.public_key = spki.subarray(-32).toString('hex')
  }

  /** In hex. */
  sign(message: Uint8Array): string {
    return sign(null, message, this.#secret).toString('hex')
  }
}

export const APPROVER = new AgentKey('a1')
export const AGENT = new AgentKey('b2')
/** Follows the agent's first key. */
export const SUCCESSOR = new AgentKey('c3')
export const REPORTER = new AgentKey('d4')

/** RFC 8785 of a record whose members are text, numbers and null, with names in ASCII. */
const canonical = (record: object): string =>
  JSON.stringify(Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))))

const underDomain = (kind: string, record: object): Buffer =>
  Buffer.from(`custos/${kind}/v1\n${canonical(record)}`)

export interface Judged {
  readonly tenant_id: string
  readonly agent_handle: string
  readonly decision: 'certify' | 'reject'
  readonly invoice_id: string
  readonly signed_at: string
}

/** What makes a governed decision one of the key. */
export function provenBy(key: AgentKey, judged: Judged) {
  const statement = {
    ...judged,
    agent_key: key.public_key,
    verifiability_tag: 'judgment',
    dimension: 'receivables',
  }
  return {
    agent_key: key.public_key,
    agent_signature: key.sign(underDomain('cgr_decision', statement)),
    signed_at: judged.signed_at,
  }
}

export interface Reported {
  readonly tenant_id: string
  readonly invoice_ref: string
  readonly outcome: string
  readonly signed_at: string
}

/** What tells who reports an outcome. */
export function reportedBy(key: AgentKey, reported: Reported) {
  const statement = {
    ...reported,
    reporter_key: key.public_key,
    dimension: 'receivables',
    outcome_date: null,
    amount_recovered: null,
    source: 'manual',
  }
  return {
    reporter_key: key.public_key,
    reporter_signature: key.sign(underDomain('cgr_outcome', statement)),
    signed_at: reported.signed_at,
  }
}

/** The link from one key to the next, to which both agree. */
export function linkOf(before: AgentKey, after: AgentKey) {
  const link = {
    prev_key: before.public_key,
    new_key: after.public_key,
    seq: 1,
    not_before: '2026-01-02T00:00:00.000000Z',
  }
  const message = Buffer.from(canonical(link))
  return { ...link, sig: before.sign(message), new_sig: after.sign(message) }
}
