// All workloads of a seed, and their digest: of keeping apart (W5, W10), of recall (W1, W3, W4,
// W8) and of change (W2, W6, W7, W9).

import { canonicalBytes, sha256, toHex } from '@custos/proof'
import { buildTrace, type NewFact, type PhrasedFact, type TraceBuilder } from './builder.ts'
import type { Trace } from './trace.ts'
import { objectsOf, PREDICATES, peopleOf, siblingOf } from './vocabulary.ts'

export type Workloads = {
  readonly stable_recall: Trace
  readonly current_versions: Trace
  readonly past_versions: Trace
  readonly near_misses: Trace
  readonly long_horizon: Trace
  readonly namespaces: Trace
  readonly deletion: Trace
  readonly conflicts: Trace
  readonly importance: Trace
  readonly across_sessions: Trace
  readonly at_once: Trace
  /** W1 again with other people, for the provenance probes. */
  readonly signed: Trace
}

/** Builds the ten workloads from the seed alone; W1 and W2 have two traces each. */
export function workloadsOf(seed: number): Workloads {
  return {
    stable_recall: stableRecall('W1', seed),
    current_versions: currentVersions(seed),
    past_versions: pastVersions(seed),
    near_misses: nearMisses(seed),
    long_horizon: longHorizon(seed),
    namespaces: namespaces(seed),
    deletion: deletion(seed),
    conflicts: conflicts(seed),
    importance: importance(seed),
    across_sessions: acrossSessions(seed),
    at_once: atOnce(seed),
    signed: stableRecall('W1/signed', seed, 10),
  }
}

/** Hex SHA-256 of the canonical JSON (RFC 8785) of all workloads. */
export function workloadDigest(workloads: Workloads): string {
  return toHex(sha256(canonicalBytes({ ...workloads })))
}

/** W5: the same people and questions in three namespaces, with other answers in each. */
function namespaces(seed: number): Trace {
  const trace = buildTrace('W5', seed)
  const { draws } = trace
  const slots = peopleOf(draws, 8).map((subject) => ({
    subject,
    predicate: draws.pick(PREDICATES),
  }))
  const objects = slots.map(({ predicate }) => objectsOf(draws, predicate, 3))
  const names = ['apart-1', 'apart-2', 'apart-3']
  for (const [n, tenant_id] of names.entries()) {
    trace.session(tenant_id)
    for (const [i, slot] of slots.entries())
      trace.say({ ...slot, object: objects[i]?.[n] ?? '', tenant_id })
  }
  for (const tenant_id of names) {
    trace.session(tenant_id)
    for (const slot of draws.shuffle(slots)) trace.ask(slot)
  }
  return trace.done()
}

const GROUPS = 4

/**
 * W10, as far as single requests can show it: two concurrent transactions on each slot. Groups of
 * two writes come first, then groups of a deletion and a write.
 */
function atOnce(seed: number): Trace {
  const trace = buildTrace('W10', seed)
  const { draws } = trace
  trace.session()
  const slots = peopleOf(draws, 2 * GROUPS).map((subject) => {
    const predicate = draws.pick(PREDICATES)
    return { subject, predicate, objects: objectsOf(draws, predicate, 3) }
  })
  const bases = slots.map(({ subject, predicate, objects: [object = ''] }) =>
    trace.say({ subject, predicate, object }),
  )
  for (const [i, { subject, predicate, objects }] of slots.entries()) {
    const [base, [, one = '', other = '']] = [bases[i], objects]
    if (!base) continue
    const slot = { subject, predicate }
    trace.session()
    trace.atOnce(() => {
      if (i < GROUPS) trace.say({ ...slot, object: one }, { txn_id: `g${i}/a` })
      else trace.forget(base, `g${i}/a`)
      trace.say({ ...slot, object: other }, { txn_id: `g${i}/b` })
    })
  }
  return trace.done()
}

/** W1: a fact for each of `count` people, then one question for each, in another order. */
function stableRecall(name: string, seed: number, count = 24): Trace {
  const trace = buildTrace(name, seed)
  trace.session()
  const said = writeFactOfEach(trace, peopleOf(trace.draws, count))
  for (const fact of trace.draws.shuffle(said)) trace.ask(fact)
  return trace.done()
}

function writeFactOfEach(
  trace: TraceBuilder,
  people: readonly string[],
  importance = 1,
): NewFact[] {
  return people.map((subject) => {
    const predicate = trace.draws.pick(PREDICATES)
    const [object = ''] = objectsOf(trace.draws, predicate)
    const fact = { predicate, subject, object, importance }
    trace.say(fact)
    return fact
  })
}

/** W3: beside each fact a sibling relation of the same person, and facts of other people. */
function nearMisses(seed: number): Trace {
  const trace = buildTrace('W3', seed)
  trace.session()
  const people = peopleOf(trace.draws, 36)
  const signals: NewFact[] = []
  const relations = PREDICATES.filter((predicate) => siblingOf(predicate) !== null)
  for (const subject of people.slice(0, 12)) {
    const predicate = trace.draws.pick(relations)
    const near = siblingOf(predicate) ?? predicate
    const [object = '', other = ''] = objectsOf(trace.draws, predicate, 2)
    const signal = { predicate, subject, object }
    signals.push(signal)
    const both = [signal, { predicate: near, subject, object: other }]
    for (const fact of trace.draws.shuffle(both)) trace.say(fact)
  }
  writeFactOfEach(trace, people.slice(12))
  for (const fact of trace.draws.shuffle(signals)) trace.ask(fact)
  return trace.done()
}

/** W4: the facts of a small store, and questions whose answers are old and new: their ages are
 * evenly spread on a logarithmic scale. */
function longHorizon(seed: number): Trace {
  const trace = buildTrace('W4', seed)
  trace.session()
  const said = writeFactOfEach(trace, peopleOf(trace.draws, 120))
  const distances = new Set<number>()
  for (let power = 0; power <= 24; power += 1)
    distances.add(Math.min(said.length, Math.round(said.length ** (power / 24))))
  for (const distance of distances) {
    const fact = said[said.length - distance]
    if (fact) trace.ask(fact)
  }
  return trace.done()
}

/** W8: a few important facts among many unimportant ones; questions are about the important. */
function importance(seed: number): Trace {
  const trace = buildTrace('W8', seed)
  trace.session()
  const people = peopleOf(trace.draws, 80)
  const important: NewFact[] = []
  for (const [i, subject] of people.entries()) {
    const [fact] = writeFactOfEach(trace, [subject], i % 8 === 0 ? 1 : 0.1)
    if (fact && i % 8 === 0) important.push(fact)
  }
  for (const fact of trace.draws.shuffle(important)) trace.ask(fact)
  return trace.done()
}

const CHAINS = 12

/** W2, first half: version chains, then questions about now. */
function currentVersions(seed: number): Trace {
  const trace = buildTrace('W2/current', seed)
  trace.session()
  for (const [oldest] of trace.draws.shuffle(writeChains(trace))) if (oldest) trace.ask(oldest)
  return trace.done()
}

/**
 * W2, second half: questions about the middle of each version, its first instant, a
 * millisecond before it, and before anything was known.
 */
function pastVersions(seed: number): Trace {
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
function deletion(seed: number): Trace {
  const trace = buildTrace('W6', seed)
  trace.session()
  const facts = writeThreeEach(trace, peopleOf(trace.draws, 10))
  for (const [first] of facts) if (first) trace.forget(first)
  for (const fact of trace.draws.shuffle(facts.flat())) trace.ask(fact)
  return trace.done()
}

/** W9: as W6, with writing, deleting and asking in sessions that take turns. */
function acrossSessions(seed: number): Trace {
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
function conflicts(seed: number): Trace {
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
