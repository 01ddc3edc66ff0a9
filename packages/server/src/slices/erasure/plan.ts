// The plan of an erasure in the ledger: enough to finish it, with no content and no salt.

import assert from 'node:assert/strict'
import Type, { type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import type { LedgerEntry } from '../../platform/keys/keyring.ts'

const reasons = {
  legal_basis: Type.String(),
  requested_by: Type.Union([Type.String(), Type.Null()]),
}

/** The changes to decisions are in the ledger row's parts, which the rows of a batch share. */
const FactPlan = Type.Object({
  version: Type.Literal(2),
  kind: Type.Literal('fact'),
  certificate_id: Type.String(),
  ref: Type.Integer(),
  store_id: Type.Union([Type.String(), Type.Null()]),
  outcome: Type.Enum(['erased', 'already_absent']),
  fact_content_hash: Type.Union([Type.String(), Type.Null()]),
  ...reasons,
})
export type FactPlan = Static<typeof FactPlan>

const RedactionPlan = Type.Object({
  version: Type.Literal(1),
  kind: Type.Literal('decision'),
  certificate_id: Type.String(),
  redaction: Type.Object({
    decision_id: Type.String(),
    decision_seq: Type.Integer(),
    sealed: Type.String(),
    old_secret_no: Type.Integer(),
    redactions: Type.Array(Type.Object({ field: Type.String(), count: Type.Integer() })),
  }),
  /** Hash over query ‖ 0x1F ‖ output. */
  content_hash: Type.String(),
  ...reasons,
})
export type RedactionPlan = Static<typeof RedactionPlan>

/** Destroys a store's description with its secret, once its facts are erased. */
const StorePlan = Type.Object({
  version: Type.Literal(1),
  kind: Type.Literal('store'),
  store_id: Type.String(),
  secret_no: Type.Integer(),
  /** Number of memories in the store when its deletion was requested. */
  facts: Type.Integer(),
})
type StorePlan = Static<typeof StorePlan>

/** A scrub that erases no memory; the parts hold the whole plan. */
const ScrubPlan = Type.Object({ version: Type.Literal(1), kind: Type.Literal('scrub') })
type ScrubPlan = Static<typeof ScrubPlan>

/** The texts of a record that is neither a memory nor a decision. */
const TextPlan = Type.Object({
  version: Type.Literal(1),
  kind: Type.Literal('text'),
  certificate_id: Type.String(),
  text_kind: Type.String(),
  text_id: Type.String(),
  /** The record secret to destroy; `null` if the record has no secret of its own. */
  secret_no: Type.Union([Type.Integer(), Type.Null()]),
  /** Base64 of the new values of the sealed columns, which contain no text of the record. */
  columns: Type.Array(Type.String()),
  content_hash: Type.String(),
  ...reasons,
})
type TextPlan = Static<typeof TextPlan>

/** Identifies a record in the ledger and in the certificates table. */
export const textSubject = ({ kind, id }: { readonly kind: string; readonly id: string }): string =>
  `${kind}/${id}`

type ErasurePlan = FactPlan | RedactionPlan | StorePlan | ScrubPlan | TextPlan

/** A plan whose ledger row is durable: the erasure can only be finished from here on. */
export interface PendingErasure<K extends ErasurePlan['kind'] = 'fact'> {
  readonly entry: LedgerEntry
  readonly plan: Extract<ErasurePlan, { kind: K }>
}

const factPlans = Compile(FactPlan)
const redactionPlans = Compile(RedactionPlan)
const storePlans = Compile(StorePlan)
const scrubPlans = Compile(ScrubPlan)
const textPlans = Compile(TextPlan)

/** Parses a ledger row's plan. The row may come from a ledger copy on disk. */
export function parsePlan(value: unknown): ErasurePlan {
  if (factPlans.Check(value)) return value
  if (storePlans.Check(value)) return value
  if (scrubPlans.Check(value)) return value
  if (textPlans.Check(value)) return value
  assert(redactionPlans.Check(value), 'a ledger row carries a plan this version does not know')
  return value
}
