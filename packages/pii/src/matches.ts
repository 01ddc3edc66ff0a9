// The findings of recognisers, and the choice between findings that overlap.

import type { Entity } from './entities.ts'

interface Candidate {
  readonly entity: Entity
  /** Offsets in the folded text, later converted to offsets in the text. */
  start: number
  end: number
  readonly score: number
}

export class Matches {
  readonly candidates: Candidate[] = []
  private readonly wanted: ReadonlySet<string> | undefined
  private readonly least: number

  constructor(wanted: ReadonlySet<string> | undefined, least: number) {
    this.wanted = wanted
    this.least = least
  }

  /** Adds a finding, with the score rounded to hundredths. False if unwanted or below the least. */
  add(entity: Entity, start: number, end: number, score: number): boolean {
    const rounded = Math.round(Math.min(score, 1) * 100) / 100
    if (rounded < this.least || (this.wanted && !this.wanted.has(entity))) return false
    this.candidates.push({ entity, start, end, score: rounded })
    return true
  }
}

/** Keeps the best of overlapping findings: by score, then length, then place, then name. */
export function resolveOverlaps(candidates: Candidate[]): Candidate[] {
  if (!candidates.every(isInPlace)) candidates.sort(byPlace)
  const kept: Candidate[] = []
  for (let from = 0; from < candidates.length; ) {
    const first = candidates[from]
    if (!first) break
    let end = first.end
    let to = from + 1
    for (; (candidates[to]?.start ?? Number.POSITIVE_INFINITY) < end; to++)
      end = Math.max(end, candidates[to]?.end ?? 0)
    if (to === from + 1) kept.push(first)
    else keepBest(candidates.slice(from, to).sort(byWorth), kept, first.start)
    from = to
  }
  return kept
}

/** With more overlapping findings than this, a map of taken characters keeps the time linear. */
const FEW = 16

function keepBest(byWorth: readonly Candidate[], kept: Candidate[], base: number): void {
  const best: Candidate[] = []
  const size = byWorth.reduce((most, { end }) => Math.max(most, end - base), 0)
  const taken = byWorth.length > FEW ? new Uint8Array(size) : undefined
  for (const candidate of byWorth) {
    const from = candidate.start - base
    const to = candidate.end - base
    if (taken?.subarray(from, to).includes(1)) continue
    if (!taken && best.some(({ start, end }) => start < candidate.end && candidate.start < end))
      continue
    taken?.fill(1, from, to)
    best.push(candidate)
  }
  for (const candidate of best.sort(byPlace)) kept.push(candidate)
}

function isInPlace(candidate: Candidate, i: number, all: readonly Candidate[]): boolean {
  const before = i > 0 ? all[i - 1] : undefined
  return before === undefined || byPlace(before, candidate) <= 0
}

function byPlace(a: Candidate, b: Candidate): number {
  return a.start - b.start || a.end - b.end
}

function byWorth(a: Candidate, b: Candidate): number {
  return (
    b.score - a.score ||
    b.end - b.start - (a.end - a.start) ||
    a.start - b.start ||
    (a.entity < b.entity ? -1 : 1)
  )
}
