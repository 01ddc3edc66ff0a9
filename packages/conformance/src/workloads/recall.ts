// Recall workloads: W1 stable recall, W3 near misses, W4 long horizon, W8 importance.

import { buildTrace, type NewFact, type TraceBuilder } from './builder.ts'
import type { Trace } from './trace.ts'
import { objectsOf, PREDICATES, peopleOf, siblingOf } from './vocabulary.ts'

/** W1: a fact for each of `count` people, then one question for each, in another order. */
export function stableRecall(name: string, seed: number, count = 24): Trace {
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
export function nearMisses(seed: number): Trace {
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
export function longHorizon(seed: number): Trace {
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
export function importance(seed: number): Trace {
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
