// Probes of history: the audit, version chains, and valid time.

import { isObject } from '@custos/proof'
import { type Ref, refKey, type WireMemory } from '../client/store.ts'
import { chainsOf } from '../evaluation/oracle.ts'
import { recallOf, replay, rounded, scoresOf } from '../evaluation/replay.ts'
import { type Trace, turnsInOrder } from '../workloads/trace.ts'
import { countTurns, type Probe, type ProbeContext, replayIn } from './probe.ts'

function isMarked({ metadata }: WireMemory): boolean {
  return isObject(metadata) && metadata['conflict'] === true
}

/** W1: the audit contains everything written, once and unchanged, and nothing else. */
export const auditProbe: Probe = {
  capability: 'audit',
  steps: ({ stable_recall }) => countTurns(stable_recall) + 1,
  async run(context) {
    const { checks, workloads, tick } = context
    const { store, refs, observations } = await replayIn(context, workloads.stable_recall)
    const audited = await store.audit()
    tick()
    const contents = contentsOf(workloads.stable_recall)
    const by = Map.groupBy(audited, ({ ref }) => refKey(ref))
    const [missing, repeated, altered]: string[][] = [[], [], []]
    for (const [fact_id, ref] of refs) {
      const [memory, ...more] = by.get(refKey(ref)) ?? []
      if (!memory) missing?.push(fact_id)
      else if (memory.content !== contents.get(fact_id)) altered?.push(fact_id)
      if (more.length > 0) repeated?.push(fact_id)
    }
    checks.none('everything written is there', missing ?? [], `${refs.size} memories`)
    checks.none('once each', repeated ?? [], 'no ref twice')
    checks.none('as it was written', altered ?? [], 'contents unchanged')
    const ours = new Set([...refs.values()].map(refKey))
    const foreign = audited.map(({ ref }) => refKey(ref)).filter((ref) => !ours.has(ref))
    checks.none('nothing else is there', foreign, 'only what was written to this store')
    return { metrics: { audited: audited.length, ...scoresOf(observations) } }
  },
}

function contentsOf(trace: Trace): ReadonlyMap<string, string> {
  return new Map(
    turnsInOrder(trace).flatMap(({ turn }) => turn.introduces.map((id) => [id, turn.content])),
  )
}

/** W2, now: answers contain current versions only; the audit has the others with successors. */
export const supersessionProbe: Probe = {
  capability: 'supersession_chain',
  steps: ({ current_versions }) => countTurns(current_versions) + 1,
  async run(context) {
    const { checks, workloads, declared, tick } = context
    const trace = workloads.current_versions
    const { store, refs, observations } = await replayIn(context, trace)
    checks.noLeak('no superseded version answers', observations, ['not_valid_then'])
    checks.recall('the current version answers', observations)
    if (declared.has('audit')) checkChains(context, trace, { refs, audited: await store.audit() })
    tick()
    return { metrics: scoresOf(observations) }
  },
}

function checkChains(
  { checks }: ProbeContext,
  trace: Trace,
  {
    refs,
    audited,
  }: {
    readonly refs: ReadonlyMap<string, Ref>
    readonly audited: readonly WireMemory[]
  },
): void {
  const by = new Map(audited.map((memory) => [refKey(memory.ref), memory]))
  const [missing, unlinked]: [string[], string[]] = [[], []]
  for (const chain of chainsOf(trace)) {
    for (const [i, fact_id] of chain.entries()) {
      const memory = by.get(refKey(refs.get(fact_id)))
      const successor = refs.get(chain[i + 1] ?? '') ?? null
      if (!memory) missing.push(fact_id)
      else if (refKey(memory.superseded_by ?? null) !== refKey(successor)) unlinked.push(fact_id)
    }
  }
  checks.none('history stays in the audit', missing, 'every version of every chain')
  checks.none('versions point to their successor', unlinked, 'superseded_by, null for the last')
}

/** W2, then: `as_of` returns the version whose interval [from, until) contains that time. */
export const biTemporalProbe: Probe = {
  capability: 'bi_temporal',
  steps: ({ past_versions }) => countTurns(past_versions),
  async run(context) {
    const { checks, workloads } = context
    const { observations } = await replayIn(context, workloads.past_versions)
    const held = observations.filter(({ required }) => required.length > 0)
    const before = observations.filter(({ required }) => required.length === 0)
    checks.recall('the version of then answers', held)
    checks.noLeak('no other version answers', held, ['not_valid_then'])
    checks.noLeak('nothing answers for a time before all of it', before, ['not_valid_then'])
    return { metrics: { ...scoresOf(observations), before_all: before.length } }
  },
}

/** W7: when two values contradict each other, the store reports it or keeps both. */
export const conflictProbe: Probe = {
  capability: 'conflict_detection',
  steps: ({ conflicts }) => countTurns(conflicts) + 1,
  async run(context) {
    const { checks, workloads, declared, tick } = context
    const store = await context.openStore()
    const marked = new Set<string>()
    const found = await replay(
      workloads.conflicts,
      {
        ...store,
        async retrieve(query, options) {
          await store.flush()
          const memories = await store.retrieve(query, options)
          for (const memory of memories) if (isMarked(memory)) marked.add(refKey(memory.ref))
          return memories.map(({ ref }) => ref)
        },
      },
      { budget: context.budget, declared, on_turn: tick },
    )
    const audited = declared.has('audit') ? await store.audit() : []
    tick()
    const live = new Set(
      audited
        .filter(({ superseded_by, valid_until }) => !superseded_by && !valid_until)
        .map(({ ref }) => refKey(ref)),
    )
    const lost: string[] = []
    let flagged = 0
    for (const { turn_id, required } of found.observations) {
      const refs = required.map((id) => refKey(found.refs.get(id)))
      if (refs.some((ref) => marked.has(ref))) flagged += 1
      else if (!refs.every((ref) => live.has(ref))) lost.push(turn_id)
    }
    checks.none('both values are surfaced', lost, 'metadata.conflict, or both live in the audit')
    const recall = rounded(recallOf(found.observations))
    return { metrics: { contested: found.observations.length, flagged, recall } }
  },
}
