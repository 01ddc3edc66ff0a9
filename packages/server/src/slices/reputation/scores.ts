// GET /v1/cgr/scores and /v1/cgr/scores/{agent_handle}.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { type AgentScore, DIMENSION_DEFAULT, type reputation } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Handler } from '../../platform/kernel/call.ts'
import { type Page, pageOf } from '../../platform/page.ts'
import {
  findSubject,
  lastSeq,
  nameAll,
  type ScoredAgent,
  type ScoreView,
  scoreOf,
  showAll,
} from './agent-score.ts'
import { listAgents, listNamed } from './rows/agents.sql.ts'
import { type AgentRow, listWeighed } from './rows/aggregates.sql.ts'
import { dimensionLabel, nameLabel } from './rows/labels.ts'

const PAGE_DEFAULT = 500
/** Agents scored per turn of the event loop. */
const CHUNK = 100

export const scores: Handler<typeof reputation.scores> = async (call, { query }) => {
  const { kernel, tenant_id } = call
  const dimension = query?.dimension ?? DIMENSION_DEFAULT
  const page = pageOf(query, PAGE_DEFAULT, call.operation.id)
  const keys = await kernel.keyring.tenant(tenant_id)
  const handle = query?.agent_handle
  const name = handle === undefined ? null : nameLabel(keys, dimension, handle)
  const { found, log_seq } = await call.read(async (db) => {
    const all = name
      ? await scoreRows(db, await listNamed(db, name))
      : await scoreAll(db, dimensionLabel(keys, dimension))
    all.sort((a, b) => b.score.cgr_score - a.score.cgr_score || order(a) - order(b))
    const { after } = page
    const from = after === null ? page.offset : all.findIndex((one) => isBehind(one, after))
    const wanted = from === -1 ? [] : all.slice(from, from + page.limit)
    return { found: await nameAll(db, wanted), log_seq: await lastSeq(db) }
  })
  const shown = await showAll({ kernel, tenant_id, dimension, log_seq }, found)
  const last = found.at(-1)
  const objects = shown.map(({ object }) => object)
  const { scores, count, limit, offset, next_cursor } = page.envelope(
    'scores',
    objects,
    last ? { at: order(last), id: scoreBits(last) } : null,
  )
  const as_of = formatTime(kernel.clock.now())
  return { scores, count, as_of, dimension, limit, offset, next_cursor }
}

const order = ({ agent }: ScoredAgent): number => agent.agent_no

/** The score's bits as hex, which sort like scores because scores are never negative. */
function scoreBits({ score }: ScoredAgent): string {
  const bits = Buffer.alloc(8)
  bits.writeDoubleBE(score.cgr_score)
  return bits.toString('hex')
}

function isBehind(one: ScoredAgent, after: NonNullable<Page['after']>): boolean {
  const bits = scoreBits(one)
  return bits < after.id || (bits === after.id && order(one) > after.at)
}

/** Scores a dimension in chunks, so that other requests run in between. */
async function scoreAll(db: TenantDb, dimension: Uint8Array): Promise<ScoredAgent[]> {
  const all: ScoredAgent[] = []
  for (let after = -1; ; ) {
    const agents = await listAgents(db, dimension, { after, limit: CHUNK })
    all.push(...(await scoreRows(db, agents)))
    const last = agents.at(-1)
    if (!last || agents.length < CHUNK) return all
    after = last.agent_no
    await nextTurn()
  }
}

/** @param agents ordered by their numbers */
async function scoreRows(db: TenantDb, agents: readonly AgentRow[]): Promise<ScoredAgent[]> {
  const [first, last] = [agents[0], agents.at(-1)]
  if (!first || !last) return []
  const weighed = await listWeighed(db, first.agent_no, last.agent_no)
  const byAgent = Map.groupBy(weighed, ({ agent_no }) => agent_no)
  return agents.map((agent) => ({
    agent,
    score: scoreOf(agent, byAgent.get(agent.agent_no) ?? []),
  }))
}

export const score: Handler<typeof reputation.score> = async (call, { params, query }) => {
  const { agent_handle } = params
  const dimension = query?.dimension ?? DIMENSION_DEFAULT
  const wanted = { agent_handle, subject_key: query?.subject_key, dimension }
  const { shown, same_handle } = await findSubject(call, wanted)
  return { ...shown.object, score: shown.object, tiergate: tiergateOf(shown), same_handle }
}

/** The band of a score and its reasons, as an attestation signs them. */
export function tiergateOf({ object, score }: ScoreView): AgentScore['tiergate'] {
  return {
    agent_handle: object.agent_handle,
    subject_key: object.subject_key,
    subject_did: object.subject_did,
    dimension: object.dimension,
    tier: score.band,
    cgr_score: object.cgr_score,
    confidence: object.confidence,
    n_resolved: object.n_resolved,
    capability_tier: null,
    as_of: object.as_of,
    rationale: score.rationale,
  }
}
