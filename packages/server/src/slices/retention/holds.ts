// Legal holds of a store: place, list, release.

import { type Hold, limits, type retention } from '@custos/contract'
import { formatTime, parseTime } from '../../platform/clock.ts'
import type { Row } from '../../platform/db/schema/tables.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import { requireErasureLease, runErasure } from '../../platform/kernel/erasure-queue.ts'
import { pageOf } from '../../platform/page.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import {
  countActiveHolds,
  countErasing,
  findHold,
  findStore,
  insertHold,
  insertHoldRelease,
  listHolds,
  loadHoldReleases,
  loadReadableStore,
  retryOnStoreConflict,
  updateHoldRelease,
} from '../memory/index.ts'
import { meter } from '../tenants/index.ts'
import { openStoreNotes, prepareStoreTarget } from './store-notes.ts'

const HOLD_ID_BYTES = 16

// Runs under the tenant's erasure lease: a hold is placed before or after each erasure, never in
// the middle of one.
export const placeHold: Handler<typeof retention.place_hold> = async (call, { params, body }) => {
  const { kernel, tenant_id } = call
  const until_us = parseEnd(call, body.until ?? null)
  const placed = await retryOnStoreConflict(async () => {
    const target = await prepareStoreTarget(kernel, tenant_id, params.store_id)
    const hold_id = kernel.ids.hex(HOLD_ID_BYTES)
    const note = { reason: body.reason, matter: body.matter ?? null }
    const { secret_no, sealed } = await target.seal(['hold', hold_id], note)
    if (sealed === null) throw new Error('a hold has a reason to seal')
    return runErasure(kernel, tenant_id, () =>
      call.once({
        async run(tx) {
          await requireErasureLease(kernel, tx)
          await target.enter(tx)
          const already_erasing = await recordHold(call, tx, {
            ...params,
            hold_id,
            until_us,
            secret_no,
            sealed,
          })
          const ids = { hold_id, already_erasing }
          return { reply: ids, ids }
        },
        // The stored ids were written by `run` above.
        replay: async (_, ids) => ({
          hold_id: String(ids['hold_id']),
          already_erasing: Number(ids['already_erasing']),
        }),
      }),
    )
  })
  const { already_erasing, hold_id } = placed
  const hold = await call.read(async (db) => {
    const row = await findHold(db, params.store_id, hold_id)
    return row && (await showHolds(call, db, params.store_id, [row]))[0]
  })
  // The store was deleted before the retry.
  if (!hold) return call.refuse('store_not_found')
  return { ...hold, already_erasing }
}

function parseEnd(call: Call<typeof retention.place_hold>, until: string | null): number | null {
  if (until === null) return null
  const until_us = parseTime(until)
  if (until_us === null || until_us <= call.kernel.clock.now())
    return call.refuse('rejected', 'until must be a time in the future')
  return until_us
}

/** Records the hold; returns how many memories of the store are already being erased. */
async function recordHold(
  call: Call<typeof retention.place_hold>,
  tx: Tx,
  hold: Pick<Row<'store_holds'>, 'store_id' | 'hold_id' | 'until_us' | 'secret_no' | 'sealed'>,
): Promise<number> {
  const { store_id, hold_id, until_us } = hold
  if ((await countActiveHolds(tx, store_id, tx.now())) >= limits.holds_per_store)
    return call.refuse('rejected', `a store has at most ${limits.holds_per_store} holds`)
  meter(tx, call.operation.id)
  const already_erasing = await countErasing(tx, store_id)
  const placed_by = call.principal.key_id
  const until_at = until_us === null ? null : formatTime(until_us)
  const { seq: placed_seq, created_us: placed_us } = await appendCrumb(tx, {
    event_type: 'hold.placed',
    subject: store_id,
    payload: { hold_id, until_at, already_erasing, placed_by },
  })
  const none = { released_us: null, released_by: null, sealed_release: null }
  await insertHold(tx, { ...hold, ...none, placed_seq, placed_us, placed_by })
  return already_erasing
}

export const listStoreHolds: Handler<typeof retention.holds> = (call, { params, query }) =>
  call.read(async (db) => {
    const { store_id } = params
    await loadReadableStore(call.kernel, db, store_id)
    const page = pageOf(query, limits.page.default, call.operation.id)
    const active_us = query.standing ? call.kernel.clock.now() : null
    const rows = await listHolds(db, store_id, { ...page, active_us })
    const last = rows.at(-1)
    const end = last ? { at: last.placed_seq, id: '' } : null
    return page.envelope('holds', await showHolds(call, db, store_id, rows), end)
  })

export const releaseHold: Handler<typeof retention.release_hold> = async (
  call,
  { params, body },
) => {
  const { kernel, tenant_id, principal } = call
  const { store_id, hold_id } = params
  const known = await call.read(async (db) => {
    if ((await findStore(db, store_id))?.state === 'deleting') return call.refuse('store_deleting')
    await loadReadableStore(kernel, db, store_id)
    return findHold(db, store_id, hold_id)
  })
  if (!known) return call.refuse('hold_not_found')
  const { reason = null } = body
  await retryOnStoreConflict(async () => {
    const target = await prepareStoreTarget(kernel, tenant_id, store_id)
    const note = reason === null ? null : { reason }
    const { sealed } = await target.seal(['release', hold_id], note, known)
    await call.transact(async (tx) => {
      await target.enter(tx)
      meter(tx, call.operation.id)
      const released_by = principal.key_id
      const release = { released_us: tx.now(), released_by, sealed_release: sealed }
      // Only the first release counts.
      if ((await updateHoldRelease(tx, hold_id, release)) === 0) return
      const payload = { hold_id, released_by }
      const crumb = { event_type: 'hold.released', subject: store_id, payload } as const
      const { seq: released_seq } = await appendCrumb(tx, crumb)
      await insertHoldRelease(tx, { store_id, hold_id, released_seq })
    })
  })
  const [hold] = await call.read(async (db) => {
    const row = await findHold(db, store_id, hold_id)
    return row ? showHolds(call, db, store_id, [row]) : []
  })
  return hold ?? call.refuse('hold_not_found')
}

async function showHolds(
  { kernel }: Pick<Call, 'kernel'>,
  db: TenantDb,
  store_id: string,
  rows: readonly Row<'store_holds'>[],
): Promise<Hold[]> {
  const open = await openStoreNotes(kernel, db, store_id)
  const releases = await loadHoldReleases(db, store_id)
  const now_us = kernel.clock.now()
  const none: { reason: string; matter: string | null } = { reason: '', matter: null }
  const unsaid: { reason: string | null } = { reason: null }
  const shown: Hold[] = []
  for (const row of rows) {
    const { hold_id, until_us, released_us, secret_no, sealed_release: sealed } = row
    shown.push({
      hold_id,
      store_id,
      ...(await open(['hold', hold_id], row, none)),
      placed_at: formatTime(row.placed_us),
      placed_by: row.placed_by,
      until: until_us === null ? null : formatTime(until_us),
      released_at: released_us === null ? null : formatTime(released_us),
      released_by: row.released_by,
      release_reason: (await open(['release', hold_id], { secret_no, sealed }, unsaid)).reason,
      standing: released_us === null && (until_us === null || until_us > now_us),
      placed_log_seq: row.placed_seq,
      released_log_seq: releases.get(hold_id) ?? null,
      log_seq: releases.get(hold_id) ?? row.placed_seq,
    })
  }
  return shown
}
