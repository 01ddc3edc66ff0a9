// SQL of the manifold: decisions, their outcomes and their agents.

import type { Builder } from '../../platform/db/builder.ts'
import { statement } from '../../platform/db/statement.ts'
import { from, type TenantDb } from '../../platform/db/tenant-db.ts'

/** The newest rows below a seq. */
export interface Page {
  readonly before: number
  readonly limit: number
}

/** Length in bytes of `start`: first bytes of the sealed document, which contain its revision. */
const START_BYTES = 5

const trail = (db: TenantDb, store_ids: readonly string[]) =>
  store_ids.length === 0
    ? from(db, 'decisions')
    : from(db, 'decisions').where('store_id', 'in', store_ids)

/** Decisions of the trail, newest first. `secret_no` or `start` changes when one is resealed. */
export const listTrail = (db: TenantDb, store_ids: readonly string[], { before, limit }: Page) =>
  db.all(
    trail(db, store_ids)
      .select((e) => [
        'seq',
        'decision_id',
        'secret_no',
        e.fn<Uint8Array>('substr', ['sealed', e.lit(1), e.lit(START_BYTES)]).as('start'),
      ])
      .where('seq', '<', before)
      .orderBy('seq', 'desc')
      .limit(limit),
  )

export async function countTrail(db: TenantDb, store_ids: readonly string[]): Promise<number> {
  const counted = trail(db, store_ids).select((e) => e.fn.countAll<number>().as('count'))
  return Number((await db.first(counted))?.count ?? 0)
}

/** A page of governed decisions, before the filter by dimension. */
const governedPage = (k: Builder, p: Page & { readonly tenant_id: string }) =>
  k
    .selectFrom('cgr_decisions as decided')
    .select([
      'decided.seq',
      'decided.decision_id',
      'decided.agent_no',
      'decided.decision',
      'decided.tag',
      'decided.secret_no',
    ])
    .where('decided.tenant_id', '=', p.tenant_id)
    .where((e) => e('decided.current', '=', e.lit(1)))
    .where('decided.seq', '<', p.before)
    .orderBy('decided.seq', 'desc')
    .limit(p.limit)

const governedStatement = statement<Page & { dimension: Uint8Array }>()(
  (k, p) =>
    governedPage(k, p)
      .innerJoin('cgr_agents as agent', (join) =>
        join
          .onRef('agent.tenant_id', '=', 'decided.tenant_id')
          .onRef('agent.agent_no', '=', 'decided.agent_no'),
      )
      .leftJoin('cgr_outcomes as known', (join) =>
        join
          .onRef('known.tenant_id', '=', 'decided.tenant_id')
          .onRef('known.referent', '=', 'decided.referent'),
      )
      .select('known.outcome')
      .where('agent.dimension', '=', p.dimension),
  // A lateral lookup of each decision's agent, because the generic plan of a join compares every
  // decision with every agent of the dimension.
  (k, p) =>
    governedPage(k, p)
      .innerJoinLateral(
        (e) =>
          e
            .selectFrom('cgr_agents')
            .select('cgr_agents.agent_no')
            .whereRef('cgr_agents.tenant_id', '=', 'decided.tenant_id')
            .whereRef('cgr_agents.agent_no', '=', 'decided.agent_no')
            .where('cgr_agents.dimension', '=', p.dimension)
            .offset(e.lit(0))
            .as('agent'),
        (join) => join.onTrue(),
      )
      .leftJoin('cgr_outcomes as known', (join) =>
        join
          .onRef('known.tenant_id', '=', 'decided.tenant_id')
          .onRef('known.referent', '=', 'decided.referent'),
      )
      .select('known.outcome'),
)

/**
 * Governed decisions of a dimension that count, the newest first, each with the latest reported
 * outcome of its referent; null: none yet.
 */
export const listGoverned = (db: TenantDb, dimension: Uint8Array, page: Page) =>
  db.allOf(governedStatement, { dimension, ...page })

const countGovernedStatement = statement<{ dimension: Uint8Array }>()((k, p) =>
  k
    .selectFrom('cgr_decisions as decided')
    .innerJoin('cgr_agents as agent', (join) =>
      join
        .onRef('agent.tenant_id', '=', 'decided.tenant_id')
        .onRef('agent.agent_no', '=', 'decided.agent_no'),
    )
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('decided.tenant_id', '=', p.tenant_id)
    .where('agent.dimension', '=', p.dimension)
    .where((e) => e('decided.current', '=', e.lit(1))),
)

export async function countGoverned(db: TenantDb, dimension: Uint8Array): Promise<number> {
  return Number((await db.firstOf(countGovernedStatement, { dimension }))?.count ?? 0)
}

const sealedGovernedStatement = statement<{
  readonly dimension: Uint8Array
  readonly first: number
  readonly last: number
}>()((k, p) =>
  k
    .selectFrom('cgr_decisions as decided')
    .innerJoin('cgr_agents as agent', (join) =>
      join
        .onRef('agent.tenant_id', '=', 'decided.tenant_id')
        .onRef('agent.agent_no', '=', 'decided.agent_no'),
    )
    .select(['decided.seq', 'decided.decision_id', 'decided.secret_no', 'decided.sealed'])
    .where('decided.tenant_id', '=', p.tenant_id)
    .where('decided.seq', '>=', p.first)
    .where('decided.seq', '<=', p.last)
    .where('agent.dimension', '=', p.dimension)
    .where((e) => e('decided.current', '=', e.lit(1))),
)

/** The sealed parts of the current governed decisions with seqs in [first, last]. */
export const listSealedGoverned = (
  db: TenantDb,
  range: { readonly dimension: Uint8Array; readonly first: number; readonly last: number },
) => db.allOf(sealedGovernedStatement, range)
