// POST /v1/governed/outcomes and its bulk form: read, applied together, answered one by one.

import {
  DIMENSION_DEFAULT,
  type OutcomeRequest,
  type RecordedOutcome,
  type reputation,
} from '@custos/contract'
import { formatTime, parseDateOrTime, parseTime } from '../../platform/clock.ts'
import type { Call, Handler, IdempotentUnit } from '../../platform/kernel/call.ts'
import type { TenantKeys } from '../../platform/keys/keyring.ts'
import type { Loc } from '../../platform/validation.ts'
import { meter } from '../tenants/index.ts'
import { applyOutcomes, type NewOutcome } from './apply-outcomes.ts'
import { type BatchIds, collapse, fateAt, idsOf, readIds } from './batch.ts'
import {
  contentLabel,
  hexOf,
  keyLabel,
  proves,
  pseudonymOf,
  readKey,
  referentLabel,
} from './rows/labels.ts'

export const outcome: Handler<typeof reputation.outcome> = async (call, { body }) => {
  const keys = await call.kernel.keyring.tenant(call.tenant_id)
  const [recorded] = await record(call, [await readOutcome(keys, body, ['body'])])
  return recorded ?? call.refuse('unavailable')
}

export const outcomes: Handler<typeof reputation.outcomes> = async (call, { body }) => {
  const keys = await call.kernel.keyring.tenant(call.tenant_id)
  const read: NewOutcome[] = []
  for (const [at, item] of body.entries()) read.push(await readOutcome(keys, item, ['body', at]))
  const items = collapse(read, ({ referent }) => hexOf(referent))
  const recorded = await record(call, items)
  const collapsed_in_batch = body.length - items.length
  return { count: recorded.length, recorded, collapsed_in_batch }
}

async function readOutcome(keys: TenantKeys, item: OutcomeRequest, loc: Loc): Promise<NewOutcome> {
  const { dimension = DIMENSION_DEFAULT, amount_recovered = null, source = '' } = item
  const pseudonym = pseudonymOf(keys, item.invoice_ref)
  const reporter_key = readKey(item.reporter_key, [...loc, 'reporter_key'])
  const signed = {
    key: reporter_key,
    signature: item.reporter_signature,
    signed_at: item.signed_at,
    loc: [...loc, 'reporter_signature'],
  }
  const proven = await proves('cgr_outcome', signed, (signed_at) => ({
    tenant_id: keys.tenant_id,
    reporter_key,
    invoice_ref: item.invoice_ref,
    dimension,
    outcome: item.outcome,
    outcome_date: item.outcome_date ?? null,
    amount_recovered,
    source,
    signed_at,
  }))
  return {
    pseudonym,
    referent: referentLabel(keys, dimension, pseudonym),
    outcome: item.outcome,
    event_us: item.outcome_date ? (parseDateOrTime(item.outcome_date)?.us ?? null) : null,
    amount: amount_recovered,
    content: contentLabel(keys, [amount_recovered, source]),
    reporter_key: reporter_key === null ? null : keyLabel(keys, reporter_key),
    signed_us: proven ? parseTime(item.signed_at ?? '') : null,
  }
}

/** The members of `Call` that both operations use. */
type Writer = Pick<Call, 'once' | 'principal' | 'operation'>

async function record(call: Writer, items: readonly NewOutcome[]): Promise<RecordedOutcome[]> {
  const once: IdempotentUnit<BatchIds> = {
    async run(tx) {
      const now_us = tx.now()
      const recorded_by = call.principal.key_id
      const ids = idsOf(now_us, await applyOutcomes(tx, items, { now_us, recorded_by }))
      for (const _ of items) meter(tx, call.operation.id)
      return { reply: ids, ids }
    },
    // A repeated request has the same items; only their results are stored.
    replay: async (_tx, ids) => readIds(ids),
  }
  const ids = await call.once(once)
  return items.map(({ pseudonym, outcome, event_us }, at) => {
    const { fate, event_us: at_us } = fateAt(ids, at, event_us)
    return {
      invoice_ref: pseudonym,
      outcome,
      recorded_at: formatTime(at_us),
      superseded_prior: fate === 'superseded',
      idempotent: fate === 'idempotent',
    }
  })
}
