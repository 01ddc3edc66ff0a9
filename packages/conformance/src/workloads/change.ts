// Workloads of change: W2 drift, W6 deletion, W7 conflict, W9 sessions.

import { buildTrace, type PhrasedFact, type TraceBuilder } from './builder.ts'
import type { Trace } from './trace.ts'
import { objectsOf, PREDICATES, peopleOf } from './vocabulary.ts'

const CHAINS = 12

/** W2, first half: version chains, then questions about now. */
export function currentVersions(seed: number): Trace {
  const trace = buildTrace('W2/current', seed)
  trace.session()
  for (const [oldest] of trace.draws.shuffle(writeChains(trace))) if (oldest) trace.ask(oldest)
  return trace.done()
}

/**
 * W2, second half: questions about the middle of each version, its first instant, a
 * millisecond before it, and before anything was known.
 */
export function pastVersions(seed: number): Trace {
  const trace = buildTrace('W2/past', seed)
  trace.session()
  const chains = writeChains(trace)
  for (const chain of chains) {
    for (const [i, version] of chain.entries()) {
      const next = chain[i + 1]
      if (!next) continue
      const [from, until] = [secondOf(version), secondOf(next)]
      trace.ask(version, trace.time(Math.floor((from + until) / 2), 500))
      trace.ask(version, next.valid_from)
      trace.ask(version, trace.time(until - 1, 999))
    }
  }
  for (const [oldest] of chains.slice(0, 4)) if (oldest) trace.ask(oldest, trace.time(0))
  return trace.done()
}

// A trace lasts one day, so the time of day identifies the second.
function secondOf({ valid_from }: PhrasedFact): number {
  const [h = 0, m = 0, s = 0] = valid_from.slice(11, 19).split(':').map(Number)
  return 3600 * h + 60 * m + s
}

/** Chains of two or three versions, round by round, so that other facts lie between versions. */
function writeChains(trace: TraceBuilder): PhrasedFact[][] {
  const { draws } = trace
  const plans = peopleOf(draws, CHAINS).map((subject, i) => {
    const predicate = draws.pick(PREDICATES)
    return { subject, predicate, objects: objectsOf(draws, predicate, 2 + (i % 2)) }
  })
  const chains: PhrasedFact[][] = plans.map(() => [])
  for (let round = 0; round < 3; round += 1) {
    for (const [i, { subject, predicate, objects }] of plans.entries()) {
      const object = objects[round]
      const replaces = chains[i]?.at(-1)
      if (object === undefined) continue
      const fact = { subject, predicate, object }
      chains[i]?.push(trace.say(fact, replaces ? { replaces } : {}))
    }
  }
  return chains
}

/** W6: three facts for each person; the first of each is deleted; questions are about all. */
export function deletion(seed: number): Trace {
  const trace = buildTrace('W6', seed)
  trace.session()
  const facts = writeThreeEach(trace, peopleOf(trace.draws, 10))
  for (const [first] of facts) if (first) trace.forget(first)
  for (const fact of trace.draws.shuffle(facts.flat())) trace.ask(fact)
  return trace.done()
}

/** W9: as W6, with writing, deleting and asking in sessions that take turns. */
export function acrossSessions(seed: number): Trace {
  const trace = buildTrace('W9', seed)
  const people = peopleOf(trace.draws, 6)
  trace.session()
  const facts = writeThreeEach(trace, people)
  trace.session()
  for (const fact of trace.draws.shuffle(facts.flat())) trace.ask(fact)
  trace.session()
  for (const [first] of facts) if (first) trace.forget(first)
  trace.session()
  for (const fact of trace.draws.shuffle(facts.flat())) trace.ask(fact)
  return trace.done()
}

function writeThreeEach(trace: TraceBuilder, people: readonly string[]): PhrasedFact[][] {
  return people.map((subject) =>
    trace.draws
      .shuffle(PREDICATES)
      .slice(0, 3)
      .map((predicate) => {
        const [object = ''] = objectsOf(trace.draws, predicate)
        return trace.say({ predicate, subject, object })
      }),
  )
}

/** W7: two facts for each slot, both open, neither superseding the other. */
export function conflicts(seed: number): Trace {
  const trace = buildTrace('W7', seed)
  trace.session()
  const { draws } = trace
  const slots = peopleOf(draws, 12).map((subject) => ({
    subject,
    predicate: draws.pick(PREDICATES),
  }))
  const pairs = slots.map(({ predicate }) => objectsOf(draws, predicate, 2))
  for (const round of [0, 1])
    for (const [i, slot] of slots.entries()) trace.say({ ...slot, object: pairs[i]?.[round] ?? '' })
  for (const slot of draws.shuffle(slots)) trace.ask(slot)
  return trace.done()
}
