// What a probe of a capability is given, and what it finds.

import type { Checks } from '../checks.ts'
import { type Replayed, replay } from '../replay.ts'
import type { GmpCapability, Metrics } from '../result.ts'
import type { Store } from '../store.ts'
import type { Trace } from '../trace.ts'
import type { Wire } from '../wire.ts'
import type { Workloads } from '../workloads/all.ts'

export type ProbeContext = {
  readonly declared: ReadonlySet<string>
  readonly workloads: Workloads
  readonly budget: number
  readonly wire: Wire
  /** Of another tenant's credential, when one was given. */
  readonly other: Wire | null
  /** A new store; removed at the end of the run. */
  readonly openStore: (wire?: Wire) => Promise<Store>
  readonly checks: Checks
  /** One turn or one request is done. */
  readonly tick: () => void
}

/** `not_tested` says what was missing to judge, when what was seen is no failure. */
export type Found = { readonly metrics: Metrics; readonly not_tested?: string }

export type Probe = {
  readonly capability: GmpCapability
  /** The turns it will replay: for the display of progress only. */
  steps(workloads: Workloads): number
  run(context: ProbeContext): Promise<Found>
}

export const turnCount = (...traces: readonly Trace[]): number =>
  traces.reduce((sum, { sessions }) => sum + sessions.reduce((n, s) => n + s.turns.length, 0), 0)

/** Replays a trace in a store that is new unless one is given. */
export async function replayIn(
  context: ProbeContext,
  trace: Trace,
  given?: Store,
): Promise<Replayed & { readonly store: Store }> {
  const store = given ?? (await context.openStore())
  const { declared, budget, tick } = context
  // A barrier before a question, but not between questions alone.
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
