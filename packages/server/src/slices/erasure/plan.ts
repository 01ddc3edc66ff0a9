// The plan of an erasure, as the ledger keeps it: enough to finish it, no content, no salt. And the
// names of its steps, in order: a crash after any of them is undone or finished.

import assert from 'node:assert/strict'
import Type, { type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Kernel } from '../../platform/kernel/kernel.ts'
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

/** A scrub that erases no memory; the parts hold the whole plan. */
const ScrubPlan = Type.Object({ version: Type.Literal(1), kind: Type.Literal('scrub') })

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

/** Identifies a record in the ledger and in the certificates table. */
export const textSubject = ({ kind, id }: { readonly kind: string; readonly id: string }): string =>
  `${kind}/${id}`

type ErasurePlan =
  | FactPlan
  | RedactionPlan
  | Static<typeof StorePlan>
  | Static<typeof ScrubPlan>
  | Static<typeof TextPlan>

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

/**
 * - `marked`: the memory is hidden from every read and refused by every write;
 * - `planned`: the plan's parts are durable, and no ledger row claims them;
 * - `ledger_recorded`: the ledger row is durable, the secret still there;
 * - `key_destroyed`: the secret is destroyed;
 * - `applied`: decisions are scrubbed, rows replaced by tombstones;
 * - `caches_dropped`: indexes and caches of this process no longer hold the memory;
 * - `verified`: every read path was checked;
 * - `certified`: the certificate is stored;
 * - `completed`: the ledger row is completed with it.
 *
 * Up to `planned` the next start undoes the mark; from `ledger_recorded` on it finishes the
 * erasure.
 */
export const ERASURE_STEPS = [
  'marked',
  'planned',
  'ledger_recorded',
  'key_destroyed',
  'applied',
  'caches_dropped',
  'verified',
  'certified',
  'completed',
] as const

/** Reports a step to crash tests; does nothing in service. */
export async function reportStep(
  kernel: Kernel,
  step: (typeof ERASURE_STEPS)[number],
): Promise<void> {
  await kernel.step(`erasure:${step}`)
}
