// A score and whose it is: computed from one agent's row and the rows of its reviewers, and shown
// by GET /v1/cgr/scores and /v1/cgr/scores/{agent_handle}.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { DIMENSION_DEFAULT, type reputation, type ScoreObject } from '@custos/contract'
import { type AgentScore, score as computeScore, didKeyOf } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import { type Page, pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import { findLastSeq } from '../gcrumbs/index.ts'
import { errorOf } from './changes.ts'
import type { NameTexts } from './decide.ts'
import { openLinks } from './rotate.ts'
import { listAgents, listNamed } from './rows/agents.sql.ts'
import { type AgentRow, listWeighed } from './rows/aggregates.sql.ts'
import { listSealedNames } from './rows/events.sql.ts'
import { dimensionLabel, hexOf, keyLabel, nameLabel, sameLabel } from './rows/labels.ts'
import { anchorOf, findLinks, listChain, type RotationRow } from './rows/rotations.sql.ts'
import { openPayload } from './rows/sealed-payload.ts'

export function scoreOf(
  agent: AgentRow,
  weighed: Awaited<ReturnType<typeof listWeighed>>,
): AgentScore {
  const { n_success, n_failure, n_pending } = agent
  const reviews = weighed.map((row) => ({
    reviewer: String(row.reviewer_no),
    count: row.count,
    rating_sum_e6: row.rating_sum_e6,
    observations: row.observations,
    error_sum_e12: errorOf(row),
  }))
  return computeScore({ n_success, n_failure, n_pending, reviews })
}

/** An agent with its score, both from one snapshot, and still sealed. */
interface ScoredAgent {
  readonly agent: AgentRow
  readonly score: AgentScore
}

/** Adds the sealed names. Returns the agents in the order of `found`. */
export async function nameAll(db: TenantDb, found: readonly ScoredAgent[]) {
  const names = await listSealedNames(
    db,
    found.map(({ agent }) => agent.newest_seq),
  )
  const nameAt = new Map(names.map((row) => [row.seq, row]))
  const chains = await Promise.all(
    found.map(({ agent }) => (agent.anchor === null ? [] : listChain(db, agent.anchor))),
  )
  return found.map((one, at) => {
    const name = nameAt.get(one.agent.newest_seq)
    if (!name) throw new Error('an agent has no newest decision')
    return { ...one, name, chain: chains[at] ?? [] }
  })
}

interface ScoreView {
  readonly score: AgentScore
  readonly object: ScoreObject
}

/** Opens the sealed names, in the order of `found`. */
export async function showAll(
  frame: Pick<Call, 'kernel' | 'tenant_id'> & { dimension: string; log_seq: number | null },
  found: Awaited<ReturnType<typeof nameAll>>,
): Promise<ScoreView[]> {
  const { kernel, tenant_id, dimension, log_seq } = frame
  const now_us = kernel.clock.now()
  const sealed = found.map(({ name }) => {
    const place = { column: 'name', id: hexOf(name.decision_id) } as const
    return { place, secret_no: name.secret_no, sealed: name.sealed_name }
  })
  const opened = await openPayload<NameTexts>(kernel, tenant_id, sealed)
  const subjects = await Promise.all(
    found.map((one, at) => subjectOf(frame, one.chain, { words: opened[at] ?? null, now_us })),
  )
  return found.map(({ agent, score }, at) => {
    const words = opened[at]
    const subject = subjects[at]
    if (!words || !subject) throw new Refusal('unavailable')
    const object = {
      agent_handle: words.agent_handle,
      cgr_score: score.cgr_score,
      confidence: score.confidence,
      n_resolved: score.n_resolved,
      n_pending: score.n_pending,
      capability_tier: null,
      as_of: formatTime(now_us),
      dimension,
      ...subject,
      post_alpha: score.post_alpha,
      post_beta: score.post_beta,
      cgr_lower: score.cgr_lower,
      n_unscored: agent.n_unscored,
      proven: agent.kind === 'proven',
      log_seq,
    }
    return { score, object }
  })
}

/** The key that is in force now, and the DID of the chain's first key. */
async function subjectOf(
  { kernel, tenant_id }: Pick<Call, 'kernel' | 'tenant_id'>,
  chain: readonly RotationRow[],
  { words, now_us }: { words: NameTexts | null; now_us: number },
): Promise<{ readonly subject_key: string | null; readonly subject_did: string | null }> {
  const key = words?.agent_key ?? null
  if (key === null) return { subject_key: null, subject_did: null }
  if (chain.length === 0) return { subject_key: key, subject_did: didKeyOf(key) }
  const links = await openLinks(kernel, tenant_id, chain)
  const anchor = links[0]?.prev_key ?? key
  const standing = links.filter((_, at) => (chain[at]?.not_before_us ?? 0) <= now_us)
  return { subject_key: standing.at(-1)?.new_key ?? anchor, subject_did: didKeyOf(anchor) }
}

/** Finds the agent with the handle, the most trustworthy first. Refuses `score_not_found`. */
export async function findSubject(
  { kernel, tenant_id }: Pick<Call, 'kernel' | 'tenant_id'>,
  wanted: {
    readonly agent_handle: string
    readonly subject_key?: string | null | undefined
    readonly dimension: string
  },
): Promise<{ shown: ScoreView; agent: AgentRow; same_handle: number }> {
  const keys = await kernel.keyring.tenant(tenant_id)
  const { dimension, agent_handle, subject_key } = wanted
  const name = nameLabel(keys, dimension, agent_handle)
  const key = subject_key ? keyLabel(keys, subject_key) : null
  const found = await kernel.db.read(tenant_id, async (db) => {
    const named = await listNamed(db, name)
    const anchor = key && anchorOf(key, await findLinks(db, key))
    const meant = anchor ? named.filter((row) => sameLabel(row.anchor, anchor)) : named
    // The proven or oldest owner comes before rivals that took the handle later or only name a key.
    const agent = meant.find(({ kind }) => kind === 'proven') ?? meant[0]
    if (!agent) return null
    const weighed = await listWeighed(db, agent.agent_no, agent.agent_no)
    const [one] = await nameAll(db, [{ agent, score: scoreOf(agent, weighed) }])
    return one && { one, log_seq: await findLastSeq(db), same_handle: named.length - 1 }
  })
  if (!found) throw new Refusal('score_not_found')
  const { one, log_seq, same_handle } = found
  const [shown] = await showAll({ kernel, tenant_id, dimension, log_seq }, [one])
  if (!shown) throw new Refusal('unavailable')
  return { shown, agent: one.agent, same_handle }
}

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
    return { found: await nameAll(db, wanted), log_seq: await findLastSeq(db) }
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
export async function scoreRows(db: TenantDb, agents: readonly AgentRow[]): Promise<ScoredAgent[]> {
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
export function tiergateOf({ object, score }: ScoreView) {
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
