// POST /v1/governed/reviews and its bulk form: parses reviews, applies them together, answers each.

import {
  DIMENSION_DEFAULT,
  type RecordedReview,
  type ReviewRequest,
  type reputation,
} from '@custos/contract'
import { RATING_UNIT } from '@custos/proof'
import { formatTime, parseDateOrTime } from '../../platform/clock.ts'
import type { Call, Handler, IdempotentUnit } from '../../platform/kernel/call.ts'
import type { TenantKeys } from '../../platform/keys/keyring.ts'
import { meter } from '../tenants/index.ts'
import { applyReviews, type NewReview } from './apply-reviews.ts'
import { type BatchIds, collapse, fateAt, idsOf, readIds } from './batch.ts'
import {
  contentLabel,
  hexOf,
  keyInName,
  keyLabel,
  nameLabel,
  pseudonymOf,
  referentLabel,
} from './rows/labels.ts'

export const review: Handler<typeof reputation.review> = async (call, { body }) => {
  const keys = await call.kernel.keyring.tenant(call.tenant_id)
  const [recorded] = await record(call, [readReview(keys, body)])
  return recorded ?? call.refuse('unavailable')
}

export const reviews: Handler<typeof reputation.reviews> = async (call, { body }) => {
  const keys = await call.kernel.keyring.tenant(call.tenant_id)
  const read = body.map((item) => readReview(keys, item))
  const items = collapse(read, ({ referent, reviewer }) => hexOf(referent) + hexOf(reviewer))
  const recorded = await record(call, items)
  const collapsed_in_batch = body.length - items.length
  return { count: recorded.length, recorded, collapsed_in_batch }
}

function readReview(keys: TenantKeys, item: ReviewRequest): NewReview {
  const { dimension = DIMENSION_DEFAULT, source = '', reviewer_handle } = item
  const [agent_handle, decision_id] = [item.agent_handle ?? null, item.decision_id ?? null]
  const pseudonym = pseudonymOf(keys, item.invoice_ref)
  const key = keyInName(reviewer_handle)
  return {
    pseudonym,
    reviewer_handle,
    referent: referentLabel(keys, dimension, pseudonym),
    reviewer: nameLabel(keys, dimension, reviewer_handle),
    reviewer_key: key === null ? null : keyLabel(keys, key),
    rating_e6: Math.round(item.rating * RATING_UNIT),
    decision_id,
    handle: agent_handle === null ? null : nameLabel(keys, dimension, agent_handle),
    event_us: item.review_date ? (parseDateOrTime(item.review_date)?.us ?? null) : null,
    content: contentLabel(keys, [agent_handle, decision_id, source]),
  }
}

/** The members of `Call` that both operations use. */
type Writer = Pick<Call, 'once' | 'principal' | 'operation'>

async function record(call: Writer, items: readonly NewReview[]): Promise<RecordedReview[]> {
  const once: IdempotentUnit<BatchIds> = {
    async run(tx) {
      const now_us = tx.now()
      const recorded_by = call.principal.key_id
      const ids = idsOf(now_us, await applyReviews(tx, items, { now_us, recorded_by }))
      for (const _ of items) meter(tx, call.operation.id)
      return { reply: ids, ids }
    },
    // A repeated request has the same items; only their results are stored.
    replay: async (_tx, ids) => readIds(ids),
  }
  const ids = await call.once(once)
  return items.map(({ pseudonym, reviewer_handle, rating_e6, event_us }, at) => {
    const { fate, event_us: at_us } = fateAt(ids, at, event_us)
    return {
      invoice_ref: pseudonym,
      reviewer_handle,
      rating: rating_e6 / RATING_UNIT,
      recorded_at: formatTime(at_us),
      superseded_prior: fate === 'superseded',
      idempotent: fate === 'idempotent',
    }
  })
}
