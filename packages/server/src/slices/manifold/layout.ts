// The layout of a tenant's decisions: computed once for each log position, shared by all callers.

import {
  JUDGMENTS,
  MANIFOLD_DECISIONS_MAX,
  type ManifoldAgent,
  type ManifoldField,
  type ManifoldPoint,
  OUTCOMES,
  type ScoreObject,
  VERIFIABILITY_TAGS,
} from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { Principal } from '../../platform/kernel/call.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { yieldBetweenChunks } from '../../platform/yield-between-chunks.ts'
import { findLastSeq } from '../gcrumbs/index.ts'
import { dimensionLabel, listAgents, nameAll, scoreRows, showAll } from '../reputation/index.ts'
import { emptyField, outcomeField, type ResolvedPoint } from './field.ts'
import { type Plane, principalPlane, round4 } from './plane.ts'
import {
  type SelectedDecision,
  type Selection,
  type SelectionQuery,
  selectDecisions,
} from './selection.ts'
import { EMBEDDER_NAME, vectorsOf } from './vectors.ts'

/** The capacity of the LRU cache of layouts. A layout of 20,000 points takes about 6 MB. */
const KEPT_MAX = 8
/** The fewest points that a plane can be computed from. */
const POINTS_MIN = 3

interface Layout {
  /** The selected decisions in the order of the points. Fewer than three have no points. */
  readonly items: readonly SelectedDecision[]
  readonly field: ManifoldField
}

interface CachedLayout extends Layout {
  readonly tenant_id: string
  /** The input that the plane was computed from. */
  readonly fingerprint: string
  readonly plane: Plane
}

/** An LRU cache of layouts. It holds numbers, ids and handles, but no texts and no vectors. */
class Layouts {
  readonly #kept = new Map<string, CachedLayout>()
  #last: Promise<unknown> = Promise.resolve()

  find(key: string): CachedLayout | undefined {
    const kept = this.#kept.get(key)
    if (!kept) return undefined
    this.#kept.delete(key)
    this.#kept.set(key, kept)
    return kept
  }

  keep(key: string, kept: CachedLayout): void {
    this.#kept.delete(key)
    this.#kept.set(key, kept)
    for (const oldest of this.#kept.keys())
      if (this.#kept.size > KEPT_MAX) this.#kept.delete(oldest)
  }

  clear(tenant_id: string): number {
    let cleared = 0
    for (const [key, kept] of this.#kept)
      if (kept.tenant_id === tenant_id && this.#kept.delete(key)) cleared += 1
    return cleared
  }

  /** Runs one computation at a time, so a waiting caller finds the result of an earlier one. */
  inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(act, act)
    this.#last = turn.catch(() => undefined)
    return turn
  }
}

export const layouts = perKernel(() => new Layouts())

/** Computes the layout at the current log position, or returns it from the cache. */
export async function layOut(
  caller: {
    readonly kernel: Kernel
    readonly tenant_id: string
    readonly principal: Pick<Principal, 'allowed_stores'>
  },
  dimension: string,
): Promise<Layout> {
  const { kernel, tenant_id, principal } = caller
  const keys = await kernel.keyring.tenant(tenant_id)
  const store_ids = [...principal.allowed_stores].sort()
  const asked = { dimension: dimensionLabel(keys, dimension), store_ids }
  const key = JSON.stringify([tenant_id, dimension, store_ids])
  const known = layouts(kernel)
  const pace = yieldBetweenChunks()
  const current = async (): Promise<Layout | null> => {
    const kept = known.find(key)
    if (!kept) return null
    const log_seq = await kernel.db.read(tenant_id, findLastSeq)
    return kept.field.meta.log_seq === log_seq ? kept : null
  }
  const compute = async (): Promise<Layout> => {
    // An earlier caller in the queue may have computed the same layout.
    const found = await current()
    if (found) return found
    const selection = await kernel.db.read(tenant_id, (db) => selectDecisions(db, asked, { pace }))
    const { fingerprint, items } = selection
    const kept = known.find(key)
    const laying = { kernel, tenant_id, dimension, asked, selection, pace }
    const plane = kept?.fingerprint === fingerprint ? kept.plane : await planeOf(laying)
    const field = await fieldOf(laying, plane)
    known.keep(key, { tenant_id, fingerprint, plane, items, field })
    return { items, field }
  }
  return (await current()) ?? known.inTurn(compute)
}

interface LayoutInput {
  readonly kernel: Kernel
  readonly tenant_id: string
  readonly dimension: string
  readonly asked: SelectionQuery
  readonly selection: Selection
  readonly pace: () => Promise<void> | undefined
}

const NO_PLANE: Plane = {
  xs: new Float64Array(),
  ys: new Float64Array(),
  variance_explained: [0, 0],
}

async function planeOf(laying: LayoutInput): Promise<Plane> {
  const { items } = laying.selection
  if (items.length < POINTS_MIN) return NO_PLANE
  return principalPlane(await vectorsOf(laying, items), laying.pace)
}

async function fieldOf(laying: LayoutInput, plane: Plane): Promise<ManifoldField> {
  const { selection, dimension, pace } = laying
  const { items, log_seq } = selection
  const empty = items.length < POINTS_MIN
  const agents = new Set(empty ? [] : items.flatMap(({ governed }) => governed?.agent_no ?? []))
  const scores = await scoreAgents({ ...laying, log_seq }, agents)
  const { points, judgments, resolved } = placePoints(empty ? [] : items, plane, scores)
  const note = empty ? TOO_FEW : selection.total > items.length ? TRUNCATED : null
  return {
    points,
    field: empty ? emptyField() : await outcomeField(points, resolved, pace),
    agents: overlay(judgments, scores),
    variance_explained: [...plane.variance_explained],
    meta: {
      dimension,
      n_points: points.length,
      n_resolved: resolved.length,
      n_embeddings_total: selection.total,
      truncated: selection.total > items.length,
      source: 'decision_embeddings',
      model: EMBEDDER_NAME,
      generated_at: formatTime(laying.kernel.clock.now()),
      log_seq,
      ...(note === null ? {} : { note }),
    },
  }
}

const TOO_FEW = `A plane needs ${POINTS_MIN} decisions.`
const TRUNCATED = `The newest ${MANIFOLD_DECISIONS_MAX} decisions are laid out.`

/** `points`: in the order of the selection. */
function placePoints(
  items: readonly SelectedDecision[],
  { xs, ys }: Plane,
  scores: ReadonlyMap<number, ScoreObject>,
) {
  const judgments: Judgment[] = []
  const resolved: ResolvedPoint[] = []
  const points = items.map(({ seq, decision_id, governed }, at) => {
    const place = { decision_id, log_seq: seq, x: xs[at] ?? 0, y: ys[at] ?? 0 }
    if (governed === null) return place
    const point = { ...place, ...judgmentOf(governed, scores.get(governed.agent_no)) }
    judgments.push({ agent_no: governed.agent_no, point })
    if (point.outcome === 'paid' || point.outcome === 'default')
      resolved.push({ x: point.x, y: point.y, paid: point.outcome === 'paid' })
    return point
  })
  return { points, judgments, resolved }
}

function judgmentOf(
  governed: NonNullable<SelectedDecision['governed']>,
  score: ScoreObject | undefined,
): Omit<ManifoldPoint, 'decision_id' | 'log_seq' | 'x' | 'y'> {
  const outcome = OUTCOMES.find((word) => word === governed.outcome)
  const verifiability_tag = VERIFIABILITY_TAGS.find((word) => word === governed.tag)
  const decision = JUDGMENTS.find((word) => word === governed.decision)
  const agent_key = score?.subject_key ?? null
  return {
    ...(outcome ? { outcome } : {}),
    ...(score ? { agent_handle: score.agent_handle } : {}),
    ...(agent_key === null ? {} : { agent_key }),
    ...(verifiability_tag ? { verifiability_tag } : {}),
    ...(decision ? { decision } : {}),
  }
}

/** The number of agents whose scores are computed in one batch. */
const CHUNK = 500

/** Scores the agents in `wanted`, keyed by agent number. */
async function scoreAgents(
  frame: Omit<LayoutInput, 'selection'> & { readonly log_seq: number | null },
  wanted: ReadonlySet<number>,
): Promise<Map<number, ScoreObject>> {
  const { kernel, tenant_id, asked } = frame
  const scores = new Map<number, ScoreObject>()
  for (let after = -1; scores.size < wanted.size; ) {
    const { agents, found } = await kernel.db.read(tenant_id, async (db) => {
      const agents = await listAgents(db, asked.dimension, { after, limit: CHUNK })
      const meant = agents.filter(({ agent_no }) => wanted.has(agent_no))
      return { agents, found: await nameAll(db, await scoreRows(db, meant)) }
    })
    const shown = await showAll(frame, found)
    for (const [at, { agent }] of found.entries()) {
      const object = shown[at]?.object
      if (object) scores.set(agent.agent_no, object)
    }
    const last = agents.at(-1)
    if (!last || agents.length < CHUNK) break
    after = last.agent_no
    await frame.pace()
  }
  return scores
}

/** A point and the number of its agent. */
interface Judgment {
  readonly agent_no: number
  readonly point: ManifoldPoint
}

/** Agents by descending score; equal scores keep the order of registration. */
function overlay(
  judgments: readonly Judgment[],
  scores: ReadonlyMap<number, ScoreObject>,
): ManifoldAgent[] {
  const byAgent = Map.groupBy(judgments, ({ agent_no }) => agent_no)
  const agents = [...byAgent].flatMap(([agent_no, own]) => {
    const score = scores.get(agent_no)
    return score ? [{ agent_no, agent: agentOf(score, own) }] : []
  })
  agents.sort((a, b) => b.agent.cgr_score - a.agent.cgr_score || a.agent_no - b.agent_no)
  return agents.map(({ agent }) => agent)
}

function agentOf(score: ScoreObject, own: readonly Judgment[]): ManifoldAgent {
  // Coordinates have four decimals; as integers, their sum is the same in any order.
  const mean = (place: (point: ManifoldPoint) => number) =>
    round4(
      own.reduce((sum, { point }) => sum + Math.round(place(point) * 1e4), 0) / own.length / 1e4,
    )
  return {
    agent_handle: score.agent_handle,
    agent_key: score.subject_key,
    x: mean(({ x }) => x),
    y: mean(({ y }) => y),
    n_decisions: own.length,
    cgr_score: round4(score.cgr_score),
    capability_tier: null,
    n_resolved: score.n_resolved,
    confidence: round4(score.confidence),
  }
}
