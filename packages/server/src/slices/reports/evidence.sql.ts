// SQL of the evidence in reports: log entries, checkpoints, models and durations of decisions.

import { statement } from '../../platform/db/statement.ts'
import { from, type TenantDb } from '../../platform/db/tenant-db.ts'

export async function findLogHead(
  db: TenantDb,
): Promise<{ readonly generation: number; readonly size: number }> {
  const row = await db.first(from(db, 'chain_heads').select(['generation', 'size']))
  return row ?? { generation: 0, size: 0 }
}

export const findLogSize = async (db: TenantDb): Promise<number> => (await findLogHead(db)).size

const entriesStatement = statement<{ first: number; end: number }>()((k, p) =>
  k
    .selectFrom('breadcrumbs')
    // Hex is made in SQL, because a byte array per entry would cost more than the rest of the read.
    .select((e) => [
      'seq',
      'record',
      e.fn<string>('lower', [e.fn('hex', ['breadcrumb_id'])]).as('id'),
    ])
    .where('tenant_id', '=', p.tenant_id)
    .where('seq', '>=', p.first)
    .where('seq', '<', p.end)
    .orderBy('seq'),
)

/** Entries with seq in [first, end), oldest first. `id` is the leaf hash in lowercase hex. */
export const listEntries = (db: TenantDb, first: number, end: number) =>
  db.allOf(entriesStatement, { first, end })

export type EpochRow = Awaited<ReturnType<typeof listEpochs>>[number]

/** Epochs of trees of fewer than `size` entries, by tree size and number, after a position. */
export const listEpochs = (
  db: TenantDb,
  {
    after,
    size,
    limit,
  }: { after: { tree_size: number; epoch_number: number }; size: number; limit: number },
) =>
  db.all(
    from(db, 'epochs')
      .select(['epoch_number', 'generation', 'tree_size', 'root_hash', 'checkpoint'])
      .where('tree_size', '<', size)
      .where((e) =>
        e.or([
          e('tree_size', '>', after.tree_size),
          e.and([e('tree_size', '=', after.tree_size), e('epoch_number', '>', after.epoch_number)]),
        ]),
      )
      .orderBy('tree_size')
      .orderBy('epoch_number')
      .limit(limit),
  )

const decisionsStatement = statement<{ after: number; last: number; limit: number }>()((k, p) =>
  k
    .selectFrom('decisions')
    .select(['seq', 'model_id', 'latency_ms'])
    .where('tenant_id', '=', p.tenant_id)
    .where('seq', '>', p.after)
    .where('seq', '<=', p.last)
    .orderBy('seq')
    .limit(p.limit),
)

/** Decisions with seq in (after, last]. The selected columns never change. */
export const listDecisions = (
  db: TenantDb,
  range: { after: number; last: number; limit: number },
) => db.allOf(decisionsStatement, range)

/** The seq of the decision that is `skip` decisions before the newest one up to `last`. */
export async function findDecisionBefore(
  db: TenantDb,
  last: number,
  skip: number,
): Promise<number | undefined> {
  const row = await db.first(
    from(db, 'decisions')
      .select('seq')
      .where('seq', '<=', last)
      .orderBy('seq', 'desc')
      .limit(1)
      .offset(skip),
  )
  return row?.seq
}
