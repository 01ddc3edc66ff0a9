// Evidence found: how much of a kind the walk over a log came upon, and where.

import { REPORT_SAMPLES_MAX } from '@custos/contract'
import type { JsonObject } from '@custos/proof'
import { EVIDENCE, type EvidenceKind, type EvidenceName, evidenceKind } from './evidence-kinds.ts'
import type { Sample, Seen } from './tally.ts'
import type { Walked } from './walk-log.ts'

export type Found = {
  readonly query: EvidenceName
  readonly about: string
  readonly count: number
  readonly first_seq: number | null
  readonly last_seq: number | null
  /** The newest, oldest first. */
  readonly samples: readonly { readonly seq: number; readonly id: string }[]
}

const NONE = { count: 0, first_seq: null, last_seq: null, samples: [] } as const
type Amount = Omit<Found, 'query' | 'about'>

/** Every kind of evidence, by name. Of a log that does not hold nothing was found. */
export function findAll(walked: Walked): Record<EvidenceName, Found> {
  const holds = walked.log.status === 'intact'
  const names = Object.keys(EVIDENCE) as EvidenceName[]
  return Object.fromEntries(
    names.map((query) => {
      const kind = evidenceKind(query)
      return [query, { query, about: kind.about, ...(holds ? amountOf(kind, walked) : NONE) }]
    }),
  ) as Record<EvidenceName, Found>
}

function amountOf({ events, derived }: EvidenceKind, walked: Walked): Amount {
  const { tally, checkpoints } = walked
  if (events) {
    const seen = events.map((type) => tally.seen.get(type)).filter((one) => one !== undefined)
    return together(seen)
  }
  const enabled = [...tally.policies].filter(([, { enabled }]) => enabled)
  const asks = ([, { action, policy_type }]: (typeof enabled)[number]) =>
    action === 'escalate' || policy_type === 'hitl_required'
  switch (derived) {
    case 'policies':
      return standing(enabled.map(([id, { seq }]) => ({ id, seq })))
    case 'oversight':
      return standing(enabled.filter(asks).map(([id, { seq }]) => ({ id, seq })))
    case 'approvers':
      return standing([...tally.approvers].map(([id, seq]) => ({ id, seq })))
    case 'checkpoint':
      return { ...NONE, ...checkpoints }
    default:
      return { ...NONE, ...tally.counted }
  }
}

function together(seen: readonly Seen[]): Amount {
  if (seen.length === 0) return NONE
  return {
    count: seen.reduce((sum, { things }) => sum + things, 0),
    first_seq: Math.min(...seen.map(({ first_seq }) => first_seq)),
    last_seq: Math.max(...seen.map(({ last_seq }) => last_seq)),
    samples: newest(seen.flatMap(({ samples }) => samples)),
  }
}

function standing(items: readonly Sample[]): Amount {
  if (items.length === 0) return NONE
  const seqs = items.map(({ seq }) => seq)
  return {
    count: items.length,
    first_seq: Math.min(...seqs),
    last_seq: Math.max(...seqs),
    samples: newest(items),
  }
}

const newest = (samples: readonly Sample[]) =>
  samples
    .toSorted((a, b) => a.seq - b.seq)
    .slice(-REPORT_SAMPLES_MAX)
    .map(({ seq, id }) => ({ seq, id }))

export const asJson = (found: Found): JsonObject => ({
  ...found,
  found: found.count > 0,
  samples: found.samples.map((sample) => ({ ...sample })),
})
