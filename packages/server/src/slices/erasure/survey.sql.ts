// SQL of the survey at a start: one look at each tenant, whatever it holds.

import type { Database } from '../../platform/db/database.ts'
import { type Asked, firstOfEach } from '../../platform/db/first-of-each.ts'
import { statement } from '../../platform/db/statement.ts'
import { HELD_SEQ } from './subjects.sql.ts'

const marksStatement = statement<{ epoch_number: number }>()((k, p) =>
  k
    .selectFrom('chain_heads')
    .select(['generation', 'size', 'frontier', 'last_id', 'last_us'])
    .select((e) => [
      e
        .selectFrom('facts')
        .select('facts.ref')
        .where('facts.tenant_id', '=', p.tenant_id)
        .where('facts.state', '=', e.lit(1))
        .limit(e.lit(1))
        .as('erasing'),
      e
        .selectFrom('tombstones')
        .select('tombstones.ref')
        .where('tombstones.tenant_id', '=', p.tenant_id)
        .where('tombstones.store_id', 'is', null)
        .where('tombstones.erased_seq', '=', e.lit(HELD_SEQ))
        .limit(e.lit(1))
        .as('held'),
      e
        .selectFrom('epochs')
        .select('epochs.epoch_number')
        .where('epochs.tenant_id', '=', p.tenant_id)
        .where('epochs.epoch_number', '=', p.epoch_number)
        .as('epoch'),
    ])
    .where('chain_heads.tenant_id', '=', p.tenant_id),
)

/** Heads of logs, marks of erasures that have not ended, and whether an epoch is there. */
export const findMarks = (db: Database, asked: readonly Asked<{ epoch_number: number }>[]) =>
  firstOfEach(db, marksStatement, asked)

const standingStatement = statement<object>()((k, p) =>
  k
    .selectFrom('certificates')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('tenant_id', '=', p.tenant_id)
    .where((e) => e('stands', '=', e.lit(1))),
)

/** How many certificates stand, by tenant. */
export async function countStandingOf(
  db: Database,
  tenants: readonly string[],
): Promise<Map<string, number>> {
  const asked = tenants.map((tenant_id) => ({ tenant_id, params: {} }))
  const counts = await firstOfEach(db, standingStatement, asked)
  return new Map([...counts].map(([tenant_id, { count }]) => [tenant_id, Number(count)]))
}
