// SQL of the manifold: decisions, their outcomes and their agents.

import type { Builder } from '../../platform/db/builder.ts'
import type { Tables } from '../../platform/db/schema/tables.ts'
import { statement } from '../../platform/db/statement.ts'
import { from, type TenantDb } from '../../platform/db/tenant-db.ts'

/** A decision of the trail; `secret_no` or `start` changes when it is resealed. */
interface TrailRow {
  readonly seq: number
  readonly decision_id: Uint8Array
  readonly secret_no: number
  /** First bytes of the sealed document, which contain its revision. */
  readonly start: Uint8Array
}

/** The newest rows below a seq. */
export interface Page {
  readonly before: number
  readonly limit: number
}

/** Length of `start` in bytes. */
const START_BYTES = 5

const trail = (db: TenantDb, store_ids: readonly string[]) =>
  store_ids.length === 0
    ? from(db, 'decisions')
    : from(db, 'decisions').where('store_id', 'in', store_ids)

/** Decisions of the trail, newest first. */
export const listTrail = (
  db: TenantDb,
  store_ids: readonly string[],
  { before, limit }: Page,
): Promise<TrailRow[]> =>
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

type GovernedRow = Pick<
  Tables['cgr_decisions'],
  'seq' | 'decision_id' | 'agent_no' | 'decision' | 'tag' | 'secret_no'
> & {
  /** The latest reported outcome of the referent. `null` if there is none yet. */
  readonly outcome: string | null
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

/** Lists the current governed decisions of a dimension with their outcomes, newest first. */
export const listGoverned = (
  db: TenantDb,
  dimension: Uint8Array,
  page: Page,
): Promise<GovernedRow[]> => db.allOf(governedStatement, { dimension, ...page })

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

interface Range {
  readonly dimension: Uint8Array
  readonly first: number
  readonly last: number
}

const sealedGovernedStatement = statement<Range>()((k, p) =>
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
export const listSealedGoverned = (db: TenantDb, range: Range) =>
  db.allOf(sealedGovernedStatement, range)
