// Probes of deletion, and of changes that other sessions must see at once.

import { refKey, type Store, WHOLE_STORE, type WireMemory } from '../client/store.ts'
import { recallOf, rounded } from '../evaluation/replay.ts'
import { countTurns, type Probe, type ProbeContext, replayIn } from './probe.ts'

/** W6: deleted memories are in no answer and not in the audit; all others still are. */
export const hardDeleteProbe: Probe = {
  capability: 'hard_delete',
  steps: ({ deletion }) => countTurns(deletion) + 6,
  async run(context) {
    const { checks, workloads, tick } = context
    const trace = workloads.deletion
    const { store, refs, observations, not_deleted } = await replayIn(context, trace)
    checks.none('deleting says that it deleted', not_deleted, 'deleted is true')
    checks.noLeak('no question brings what was deleted', observations, ['deleted'])
    checks.recall('what was not deleted answers', observations)
    const deleted = trace.sessions.flatMap(({ turns }) => turns.flatMap((turn) => turn.deletes))
    const gone = new Set(deleted.map((id) => refKey(refs.get(id))))
    await checkPast(context, store, gone)
    const [first] = deleted
    const again = first === undefined ? undefined : refs.get(first)
    if (again !== undefined)
      checks.add('deleting again deletes nothing', !(await store.erase(again)), 'deleted is false')
    tick()
    if (context.declared.has('audit')) await checkAudit(context, store, { refs, gone })
    tick()
    if (context.declared.has('supersession_chain')) await checkHead(context, store)
    const leaks = observations.filter(({ leaks }) => leaks.some((l) => l.wrong === 'deleted'))
    const recall = rounded(recallOf(observations))
    const leakage = rounded(leaks.length / observations.length)
    return { metrics: { queries: observations.length, deleted: deleted.length, recall, leakage } }
  },
}

/** Retrieves as of a time before the deletions: deleted memories must not be returned. */
async function checkPast(context: ProbeContext, store: Store, gone: ReadonlySet<string>) {
  const { checks, declared, workloads, tick } = context
  if (declared.has('bi_temporal')) {
    const turns = workloads.deletion.sessions.flatMap((session) => session.turns)
    const as_of = turns.find(({ deletes }) => deletes.length > 0)?.timestamp ?? null
    const [said] = turns.filter(({ introduces }) => introduces.length > 0)
    const past = await store.retrieve(said?.content ?? '', { budget_tokens: WHOLE_STORE, as_of })
    checks.none('nor does a question about the past', among(past, gone), 'with as_of before it')
  }
  tick()
}

const among = (memories: readonly WireMemory[], gone: ReadonlySet<string>): string[] =>
  memories.map(({ ref }) => refKey(ref)).filter((ref) => gone.has(ref))

async function checkAudit(
  context: ProbeContext,
  store: Store,
  {
    refs,
    gone,
  }: {
    readonly refs: ReadonlyMap<string, unknown>
    readonly gone: ReadonlySet<string>
  },
) {
  const { checks } = context
  const audited = await store.audit()
  checks.none('the audit does not hold the deleted', among(audited, gone), 'gone from the audit')
  const there = new Set(audited.map(({ ref }) => refKey(ref)))
  const withheld = [...refs].filter(([, ref]) => !gone.has(refKey(ref)) && !there.has(refKey(ref)))
  const ids = withheld.map(([fact_id]) => fact_id)
  checks.none('the audit holds the others', ids, `${refs.size - gone.size} memories`)
}

/** Deletes the current version of a chain: the version before it must become current again. */
async function checkHead({ checks, tick, declared }: ProbeContext, store: Store): Promise<void> {
  const at = (second: number) => ({ valid_from: `2024-02-01T00:00:0${second}.000000+00:00` })
  const old = await store.write('The lighthouse at Skerrow is painted white.', at(1))
  const head = await store.supersede(old, 'The lighthouse at Skerrow is painted red.', at(2))
  const erased = await store.erase(head)
  tick()
  checks.add('a current version can be deleted', erased, 'deleted is true')
  await store.flush()
  const asked = { budget_tokens: WHOLE_STORE }
  const now = await store.retrieve('Which colour is the lighthouse at Skerrow?', asked)
  const shown = now.map(({ ref }) => refKey(ref))
  checks.add('and is gone then', !shown.includes(refKey(head)), `without ref ${refKey(head)}`)
  tick()
  const reopened = `ref ${refKey(old)} answers`
  checks.add('the version before it is current again', shown.includes(refKey(old)), reopened)
  if (declared.has('audit')) {
    const there = (await store.audit()).some(({ ref }) => refKey(ref) === refKey(head))
    checks.add('and is not in the audit', !there, `without ref ${refKey(head)}`)
  }
  tick()
}

/**
 * W9: a session that has queried before sees the writes and deletions of another session in its
 * next answer. Each session is a separate caller; HTTP has no sessions.
 */
export const crossSessionProbe: Probe = {
  capability: 'cross_session_propagation',
  steps: ({ across_sessions }) => countTurns(across_sessions),
  async run(context) {
    const { checks, workloads, declared } = context
    const { observations } = await replayIn(context, workloads.across_sessions)
    const half = observations.length / 2
    const [before, after] = [observations.slice(0, half), observations.slice(half)]
    checks.recall('what another session wrote answers', before)
    checks.recall('what no session deleted still answers', after)
    if (declared.has('hard_delete'))
      checks.noLeak('what another session deleted is gone', after, ['deleted'])
    const recall = rounded(recallOf(observations))
    return { metrics: { queries: observations.length, recall } }
  },
}
