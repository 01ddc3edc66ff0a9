// All workloads of a seed, with the isolation workloads (W5, W10), and their digest.

import { canonicalBytes, sha256, toHex } from '@custos/proof'
import { buildTrace } from './builder.ts'
import { acrossSessions, conflicts, currentVersions, deletion, pastVersions } from './change.ts'
import { importance, longHorizon, nearMisses, stableRecall } from './recall.ts'
import type { Trace } from './trace.ts'
import { objectsOf, PREDICATES, peopleOf } from './vocabulary.ts'

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
