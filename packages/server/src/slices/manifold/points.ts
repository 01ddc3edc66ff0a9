// Pure: selected decisions at their places on the plane, as the field shows them.

import {
  JUDGMENTS,
  type ManifoldPoint,
  OUTCOMES,
  type ScoreObject,
  VERIFIABILITY_TAGS,
} from '@custos/contract'
import type { Judgment } from './agents.ts'
import type { Resolved } from './field.ts'
import type { Plane } from './plane.ts'
import type { Judged, Selected } from './selection.ts'

export interface Points {
  /** In the order of the selection. */
  readonly points: ManifoldPoint[]
  readonly judgments: readonly Judgment[]
  readonly resolved: readonly Resolved[]
}

export function placePoints(
  items: readonly Selected[],
  { xs, ys }: Plane,
  scores: ReadonlyMap<number, ScoreObject>,
): Points {
  const judgments: Judgment[] = []
  const resolved: Resolved[] = []
  const points = items.map(({ seq, decision_id, judged }, at) => {
    const place = { decision_id, log_seq: seq, x: xs[at] ?? 0, y: ys[at] ?? 0 }
    if (judged === null) return place
    const point = { ...place, ...judgmentOf(judged, scores.get(judged.agent_no)) }
    judgments.push({ agent_no: judged.agent_no, point })
    if (point.outcome === 'paid' || point.outcome === 'default')
      resolved.push({ x: point.x, y: point.y, paid: point.outcome === 'paid' })
    return point
  })
  return { points, judgments, resolved }
}

type Shown = Omit<ManifoldPoint, 'decision_id' | 'log_seq' | 'x' | 'y'>

function judgmentOf(judged: Judged, score: ScoreObject | undefined): Shown {
  const outcome = OUTCOMES.find((word) => word === judged.outcome)
  const verifiability_tag = VERIFIABILITY_TAGS.find((word) => word === judged.tag)
  const decision = JUDGMENTS.find((word) => word === judged.decision)
  const agent_key = score?.subject_key ?? null
  return {
    ...(outcome ? { outcome } : {}),
    ...(score ? { agent_handle: score.agent_handle } : {}),
    ...(agent_key === null ? {} : { agent_key }),
    ...(verifiability_tag ? { verifiability_tag } : {}),
    ...(decision ? { decision } : {}),
  }
}
