// Workloads of keeping apart: W5 namespaces of a tenant, W10 transactions that run at once.

import { buildTrace } from './builder.ts'
import type { Trace } from './trace.ts'
import { objectsOf, PREDICATES, peopleOf } from './vocabulary.ts'

/** W5: the same people and questions in three namespaces, with other answers in each. */
export function namespaces(seed: number): Trace {
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
 * W10, as far as single requests can show it: on each slot two transactions that start at once.
 * Groups of two writers, then groups of one who deletes and one who writes.
 */
export function atOnce(seed: number): Trace {
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
