// The inputs, checks and results of a probe, which tests one capability; evidence contains ids and
// no contents.

import { RequestRefused, type Store } from '../client/store.ts'
import type { Wire } from '../client/wire.ts'
import {
  type LeakedFact,
  type Observation,
  type ReplayResult,
  recallOf,
  replay,
  rounded,
} from '../evaluation/replay.ts'
import type { ConformanceCheck, GmpCapability, Metrics } from '../evaluation/result.ts'
import type { Workloads } from '../workloads/all.ts'
import type { Trace } from '../workloads/trace.ts'

/** Retrieval quality is not tested: half of the expected facts is enough (the protocol's gate). */
const RECALL_MIN = 0.5
const NAMED_MAX = 5
/** Refs come from the server: a prefix is enough to recognise one. */
const NAME_CHARS_MAX = 100

export class Checks {
  readonly list: ConformanceCheck[] = []

  /** @param expected the requirement, for passed and failed checks */
  add(name: string, passed: boolean, expected: string): void {
    this.list.push({ name, passed, detail: expected })
  }

  /** Passes when there is no offender; else names the first few. */
  none(name: string, offenders: readonly string[], expected: string): void {
    const short = offenders.slice(0, NAMED_MAX).map((name) => name.slice(0, NAME_CHARS_MAX))
    const named = short.join(', ')
    const more = offenders.length > NAMED_MAX ? ` and ${offenders.length - NAMED_MAX} more` : ''
    const found = offenders.length === 0 ? '' : `; not so for ${named}${more}`
    this.add(name, offenders.length === 0, `${expected}${found}`)
  }

  recall(name: string, observations: readonly Observation[]): void {
    const recall = recallOf(observations)
    const missed = observations.filter(({ required, found }) => found.length < required.length)
    const first = missed.slice(0, NAMED_MAX).map(({ turn_id }) => turn_id)
    const named = first.length === 0 ? '' : `; missed in ${first.join(', ')}`
    const expected = `recall of ${rounded(recall)}, ${RECALL_MIN} is required`
    this.add(name, recall >= RECALL_MIN, `${expected}${named}`)
  }

  /** No answer may hold a fact for one of these reasons. */
  noLeak(
    name: string,
    observations: readonly Observation[],
    reasons: readonly LeakedFact['wrong'][],
  ) {
    const offenders = observations.flatMap(({ turn_id, leaks }) =>
      leaks
        .filter(({ wrong }) => reasons.includes(wrong))
        .map(({ fact_id, wrong }) => `${fact_id} (${wrong}) in ${turn_id}`),
    )
    this.none(name, offenders, `in none of ${observations.length} answers`)
  }
}

export type ProbeContext = {
  readonly declared: ReadonlySet<string>
  readonly workloads: Workloads
  readonly budget: number
  readonly wire: Wire
  /** Requests with another tenant's credential, if one was given. */
  readonly other: Wire | null
  /** A new store; removed at the end of the run. */
  readonly openStore: (wire?: Wire) => Promise<Store>
  readonly checks: Checks
  /** Reports the progress of one turn or one request. */
  readonly tick: () => void
}

/** `not_tested` says why the capability could not be tested; a failed check takes precedence. */
export type ProbeResult = { readonly metrics: Metrics; readonly not_tested?: string }

export type Probe = {
  readonly capability: GmpCapability
  /** The number of turns and requests, for the progress display only. */
  steps(workloads: Workloads): number
  run(context: ProbeContext): Promise<ProbeResult>
}

export const countTurns = (...traces: readonly Trace[]): number =>
  traces.reduce((sum, { sessions }) => sum + sessions.reduce((n, s) => n + s.turns.length, 0), 0)

/** Replays a trace in the given store or a new one. */
export async function replayIn(
  context: ProbeContext,
  trace: Trace,
  given?: Store,
): Promise<ReplayResult & { readonly store: Store }> {
  const store = given ?? (await context.openStore())
  const { declared, budget, tick } = context
  // Flush before a question if something was written since the last one.
  let written = true
  const after = async <T>(done: Promise<T>): Promise<T> => {
    written = true
    return done
  }
  const replayed = await replay(
    trace,
    {
      write: (...fact) => after(store.write(...fact)),
      supersede: (...fact) => after(store.supersede(...fact)),
      erase: (ref) => after(store.erase(ref)),
      async retrieve(query, options) {
        if (written) await store.flush()
        written = false
        return (await store.retrieve(query, options)).map(({ ref }) => ref)
      },
    },
    { budget, declared, on_turn: tick },
  )
  return { ...replayed, store }
}

const AT = '2024-02-02T00:00:00.000000+00:00'

/** A request that uses each capability, for capabilities with their own operation or option. */
const USES: Partial<Record<GmpCapability, (store: Store) => Promise<unknown>>> = {
  audit: (store) => store.audit(),
  supersession_chain: async (store) => {
    const ref = await store.write('The ferry to Anholt is blue.', {})
    return store.supersede(ref, 'The ferry to Anholt is green.', {})
  },
  bi_temporal: (store) => store.retrieve('What is blue?', { budget_tokens: 64, as_of: AT }),
  hard_delete: async (store) => store.erase(await store.write('The pier is closed.', {})),
  multi_tenant: (store) => store.write('The pier is open.', { tenant_id: 'apart-1' }),
}

/** Checks that using an undeclared capability is refused with 422 capability_not_supported. */
export async function checkAbsence(context: ProbeContext, capability: GmpCapability) {
  const use = USES[capability]
  if (!use) return
  const expected = '422 capability_not_supported'
  const name = 'refused, since it is not declared'
  const store = await context.openStore()
  try {
    await use(store)
    context.checks.add(name, false, `${expected}; it was carried out`)
  } catch (error) {
    if (!(error instanceof RequestRefused)) throw error
    const right = error.status === 422 && error.code === 'capability_not_supported'
    context.checks.add(name, right, `${expected}; ${error.message}`)
  }
}
