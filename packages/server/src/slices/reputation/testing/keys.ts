// Agents' own keys for tests: statements and links signed as an agent would.

import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import {
  type CgrDecisionStatement,
  type CgrOutcomeStatement,
  cgrDecisionBytes,
  cgrOutcomeBytes,
  rotationBytes,
} from '@custos/proof'

export interface AgentKey {
  readonly key: string
  readonly secret: KeyObject
}

export function newKey(): AgentKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  return { key: spki.subarray(-32).toString('hex'), secret: privateKey }
}

const signed = ({ secret }: AgentKey, bytes: Uint8Array): string =>
  sign(null, bytes, secret).toString('hex')

let moments = 0

/** A later moment with every call. */
export function nextMoment(): string {
  moments += 1
  return `2026-01-01T00:00:00.${String(moments).padStart(6, '0')}Z`
}

type Decided = Partial<CgrDecisionStatement> & { tenant_id: string; agent_handle: string }

/** What makes a decision a proven one. */
export function provenBy(agent: AgentKey, decided: Decided) {
  const statement = {
    agent_key: agent.key,
    decision: 'certify',
    verifiability_tag: 'judgment',
    dimension: 'receivables',
    invoice_id: null,
    signed_at: nextMoment(),
    ...decided,
  }
  const agent_signature = signed(agent, cgrDecisionBytes(statement))
  return { agent_key: agent.key, agent_signature, signed_at: statement.signed_at }
}

type Reported = Partial<CgrOutcomeStatement> & { tenant_id: string; invoice_ref: string }

/** What tells who reports an outcome. */
export function reportedBy(reporter: AgentKey, reported: Reported) {
  const statement = {
    reporter_key: reporter.key,
    dimension: 'receivables',
    outcome: 'paid',
    outcome_date: null,
    amount_recovered: null,
    source: 'manual',
    signed_at: nextMoment(),
    ...reported,
  }
  const reporter_signature = signed(reporter, cgrOutcomeBytes(statement))
  return { reporter_key: reporter.key, reporter_signature, signed_at: statement.signed_at }
}

export function linkOf(
  prev: AgentKey,
  next: AgentKey,
  more: { seq?: number; not_before?: string },
) {
  const { seq = 1, not_before } = more
  const link = { prev_key: prev.key, new_key: next.key, seq, not_before: not_before ?? '' }
  const sig = signed(prev, rotationBytes(link))
  return { ...link, not_before: not_before ?? null, sig }
}
