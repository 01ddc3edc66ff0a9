// The agents over the plane, with the scores that reputation has of them.

import type { ManifoldAgent, ManifoldPoint, ScoreObject } from '@custos/contract'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { listAgents, listWeighed, nameAll, scoreOf, showAll } from '../reputation/index.ts'
import { round4 } from './plane.ts'
import type { SelectionQuery } from './selection.ts'

/** Agents whose scores are made in one go. */
const CHUNK = 500

interface AgentFrame {
  readonly kernel: Kernel
  readonly tenant_id: string
  readonly asked: SelectionQuery
  readonly dimension: string
  readonly log_seq: number | null
  readonly pace: () => Promise<void> | undefined
}

/** By the number of the agent: those among `wanted`. */
export async function scoreAgents(
  frame: AgentFrame,
  wanted: ReadonlySet<number>,
): Promise<Map<number, ScoreObject>> {
  const { kernel, tenant_id, asked } = frame
  const scores = new Map<number, ScoreObject>()
  for (let after = -1; scores.size < wanted.size; ) {
    const { agents, found } = await kernel.db.read(tenant_id, async (db) => {
      const agents = await listAgents(db, asked.dimension, { after, limit: CHUNK })
      const meant = agents.filter(({ agent_no }) => wanted.has(agent_no))
      const [first, last] = [meant[0], meant.at(-1)]
      if (!first || !last) return { agents, found: [] }
      const weighed = await listWeighed(db, first.agent_no, last.agent_no)
      const byAgent = Map.groupBy(weighed, ({ agent_no }) => agent_no)
      const scored = meant.map((agent) => ({
        agent,
        score: scoreOf(agent, byAgent.get(agent.agent_no) ?? []),
      }))
      return { agents, found: await nameAll(db, scored) }
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

/** A point, and the agent it is one of. */
export interface Judgment {
  readonly agent_no: number
  readonly point: ManifoldPoint
}

/** The best score first; of equal ones the agent that was there first. */
export function overlay(
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
  // Places have four digits: as whole numbers their sum is the same in any order.
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
