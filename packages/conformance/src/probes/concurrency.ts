// Probe of concurrency_control: sends groups of requests concurrently (W10).

import { type Ref, RequestRefused, refKey, type Store, WHOLE_STORE } from '../client/store.ts'
import { evaluateGroup, type TransactionGroup } from '../evaluation/isolation.ts'
import { type Turn, turnsInOrder } from '../workloads/trace.ts'
import { countTurns, type Probe, type ProbeContext } from './probe.ts'

/**
 * Sends two concurrent requests on one memory, group by group. At every isolation level, deleted
 * memories stay deleted, refused requests leave nothing, and acknowledged writes can be read.
 * Above read_committed no committed write is lost either; the interface does not name the level,
 * so lost writes are only counted.
 */
export const concurrencyProbe: Probe = {
  capability: 'concurrency_control',
  steps: ({ at_once }) => countTurns(at_once),
  async run(context) {
    const { workloads, declared } = context
    if (!declared.has('audit') || !declared.has('supersession_chain'))
      return { metrics: {}, not_tested: 'needs audit and supersession_chain to see what is left' }
    const store = await context.openStore()
    const trace = workloads.at_once
    const refs = new Map<string, Ref>()
    const groups = Map.groupBy(
      turnsInOrder(trace).map(({ turn }) => turn),
      ({ txn_id }) => txn_id?.split('/')[0] ?? null,
    )
    for (const turn of groups.get(null) ?? []) await writeBase(context, { store, turn, refs })
    const facts = new Map(trace.facts.map((fact) => [fact.fact_id, fact]))
    const outcomes: TransactionGroup[] = []
    for (const [name, turns] of groups) {
      if (name === null) continue
      const [one] = turns.flatMap((t) => [...t.introduces, ...t.deletes]).map((i) => facts.get(i))
      const base = trace.facts.find(
        (f) => f.subject === one?.subject && f.predicate === one.predicate,
      )
      const ref = refs.get(base?.fact_id ?? '')
      if (!base || ref === undefined) continue
      if (turns.some((t) => t.deletes.length > 0) && !declared.has('hard_delete')) continue
      outcomes.push(await runGroup(context, { name, store, turns, ref, base_id: base.fact_id }))
    }
    return { metrics: addGroupChecks(context, outcomes) }
  },
}

async function writeBase(
  { tick }: ProbeContext,
  {
    store,
    turn,
    refs,
  }: { readonly store: Store; readonly turn: Turn; readonly refs: Map<string, Ref> },
): Promise<void> {
  const ref = await store.write(turn.content, { valid_from: turn.timestamp })
  for (const id of turn.introduces) refs.set(id, ref)
  tick()
}

/** Sends the requests of the group concurrently, then reads what each of them left. */
async function runGroup(
  { tick }: ProbeContext,
  group: {
    readonly name: string
    readonly store: Store
    readonly turns: readonly Turn[]
    readonly ref: Ref
    readonly base_id: string
  },
): Promise<TransactionGroup> {
  const { store, turns, ref, name } = group
  const ended = await Promise.all(
    turns.map(async (turn) => {
      const erases = turn.deletes.length > 0
      const written = await attempt(async () => {
        if (erases) return (await store.erase(ref)) ? ref : null
        return store.supersede(ref, turn.content, { valid_from: turn.timestamp })
      })
      tick()
      return { txn_id: turn.txn_id ?? '', content: erases ? null : turn.content, written }
    }),
  )
  await store.flush()
  const audited = await store.audit()
  const asked = await store.retrieve(turns[0]?.content ?? '', { budget_tokens: WHOLE_STORE })
  const there = new Map(audited.map((memory) => [refKey(memory.ref), memory]))
  const contents = new Set(audited.map(({ content }) => content))
  return {
    name,
    transactions: ended.map(({ txn_id, content, written }) => ({
      txn_id,
      kind: content === null ? 'delete' : 'write',
      committed: written !== null,
      survives: content === null ? there.has(refKey(ref)) : contents.has(content),
      is_read: content !== null && asked.some((memory) => memory.content === content),
      replaced: content !== null && Boolean(there.get(refKey(written))?.superseded_by),
    })),
    base_is_read: asked.some((memory) => refKey(memory.ref) === refKey(ref)),
  }
}

/** Returns the new ref, or null when the store refused the write as a conflict. */
async function attempt(run: () => Promise<Ref | null>): Promise<Ref | null> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof RequestRefused && [404, 409, 412, 423].includes(error.status)) return null
    throw error
  }
}

function addGroupChecks({ checks }: ProbeContext, outcomes: readonly TransactionGroup[]) {
  const judged = outcomes.map((outcome) => ({ name: outcome.name, ...evaluateGroup(outcome) }))
  const where = (anomaly: string) =>
    judged.filter(({ anomalies }) => anomalies.some((a) => a === anomaly)).map(({ name }) => name)
  const levels = ['read_committed', 'serializable'] as const
  checks.none('what was deleted stays away', where('resurrection'), 'at every level')
  checks.none('what was refused left nothing', where('refused_write'), 'at every level')
  checks.none('what was answered is read', where('unread_write'), 'at every level')
  const lost = where('lost_update').length
  const level = judged.reduce((least, { level }) => Math.min(least, levels.indexOf(level)), 1)
  return { groups: judged.length, lost_updates: lost, above_read_committed: level }
}
