// One run of the suite: creates stores, tests every declared capability, removes all stores.

import { setTimeout as sleep } from 'node:timers/promises'
import { isObject, isText } from '@custos/proof'
import { now, storeName } from './ambient.ts'
import {
  createStore,
  MalformedAnswer,
  openStore,
  RequestRefused,
  type Store,
} from './client/store.ts'
import { ConformanceError, type Leftover, openWire, type Wire } from './client/wire.ts'
import { rounded, scoresOf } from './evaluation/replay.ts'
import {
  type CapabilityResult,
  type ConformanceResult,
  GMP_CAPABILITIES,
  type Measurement,
  SUITE_VERSION,
} from './evaluation/result.ts'
import { concurrencyProbe } from './probes/concurrency.ts'
import { crossSessionProbe, hardDeleteProbe } from './probes/erasure.ts'
import { auditProbe, biTemporalProbe, conflictProbe, supersessionProbe } from './probes/history.ts'
import { provenanceProbe, signatureProbe } from './probes/origin.ts'
import {
  Checks,
  checkAbsence,
  countTurns,
  type Probe,
  type ProbeContext,
  type ProbeResult,
  replayIn,
} from './probes/probe.ts'
import { multiTenantProbe } from './probes/tenancy.ts'
import { type Workloads, workloadDigest, workloadsOf } from './workloads/all.ts'
import type { Trace } from './workloads/trace.ts'

export type ConformanceOptions = {
  /** Address of the server, without a path. Every request is sent there. */
  readonly url: string
  /** The key sent as `Authorization: Bearer`; not needed for a server without credentials. */
  readonly api_key?: string | undefined
  /** A key of another tenant; without it `multi_tenant` cannot be tested. */
  readonly other_api_key?: string | undefined
  /** The seed, 0 … 2^53 − 1, default 1. The same seed gives byte-identical workloads. */
  readonly seed?: number | undefined
  /** Token budget of each retrieval; default 512. */
  readonly budget?: number | undefined
  /** Whether to measure retrieval too, which has no verdict; default true. */
  readonly measure?: boolean | undefined
  readonly fetch?: typeof fetch | undefined
  /** Ends the run at the next request. Its stores are still removed. */
  readonly signal?: AbortSignal | undefined
  readonly on_progress?: ((done: number, total: number, capability: string) => void) | undefined
}

type Run = {
  readonly options: ConformanceOptions
  readonly seed: number
  readonly budget: number
  readonly wire: Wire
  readonly other: Wire | null
  readonly stores: RunStores
  readonly workloads: Workloads
}

/**
 * Runs the suite against a server and returns a verdict for each capability. Rejects with
 * ConformanceError if the server cannot be reached, creates no store, or the signal ends the run.
 * Its `leftovers` names the stores that could not be removed.
 */
export async function runConformance(options: ConformanceOptions): Promise<ConformanceResult> {
  const { seed = 1, budget = 512, other_api_key } = options
  if (!Number.isSafeInteger(seed) || seed < 0) throw new ConformanceError('the seed is no count')
  if (!Number.isSafeInteger(budget) || budget < 1) throw new ConformanceError('no such budget')
  const started_at = now()
  const open = (api_key: string | undefined, signal = options.signal): Wire =>
    openWire({ url: options.url, api_key, fetch: options.fetch, signal })
  const wire = open(options.api_key)
  const other = other_api_key === undefined ? null : open(other_api_key)
  const unending = new AbortController().signal
  const cleaner = (of: Wire) => open(of === wire ? options.api_key : other_api_key, unending)
  const stores = openRunStores(wire, cleaner)
  const run = { options, seed, budget, wire, other, stores, workloads: workloadsOf(seed) }
  let leftovers: Leftover[] | undefined
  try {
    const judged = await testCapabilities(run)
    leftovers = await stores.removeAll()
    return {
      suite_version: SUITE_VERSION,
      seed,
      budget,
      url_origin: new URL(options.url).origin,
      server: await versionOf(open(options.api_key, unending)),
      started_at,
      completed_at: now(),
      store_ids: stores.store_ids,
      leftovers,
      ...judged,
      workload_digest: workloadDigest(run.workloads),
    }
  } catch (error) {
    leftovers ??= await stores.removeAll()
    throw asConformanceError(error, leftovers)
  }
}

function asConformanceError(error: unknown, leftovers: readonly Leftover[]): ConformanceError {
  const message = error instanceof Error ? error.message : 'the suite could not run'
  return new ConformanceError(message, leftovers, error)
}

async function versionOf(wire: Wire): Promise<{ version?: string }> {
  const { body } = await wire('GET', '/health').catch(() => ({ body: null }))
  const version = isObject(body) ? body['version'] : undefined
  return isText(version) && /^[\x20-\x7e]{1,100}$/.test(version) ? { version } : {}
}

async function testCapabilities(run: Run) {
  const declared_capabilities = [...(await declaredOf(run))].sort()
  const declared = new Set(declared_capabilities)
  const { workloads } = run
  const tested = probes.filter(({ capability }) => declared.has(capability))
  const all = [workloads.near_misses, workloads.long_horizon, workloads.importance]
  const measured = run.options.measure === false ? [] : all
  const total = tested.reduce((sum, probe) => sum + probe.steps(workloads), countTurns(...measured))
  let done = 0
  const step = (capability: string) => () => {
    done += 1
    run.options.on_progress?.(Math.min(done, total), total, capability)
  }
  const contextOf = (capability: string): ProbeContext => ({
    ...{ declared, workloads, budget: run.budget, wire: run.wire, other: run.other },
    openStore: run.stores.open,
    checks: new Checks(),
    tick: step(capability),
  })
  const capabilities: CapabilityResult[] = []
  for (const probe of probes) capabilities.push(await runProbe(probe, contextOf(probe.capability)))
  const measurements: Measurement[] = []
  for (const trace of measured) measurements.push(await measure(contextOf('retrieval'), trace))
  const counted = capabilities.filter(({ verdict }) => verdict === 'pass' || verdict === 'fail')
  const passed = counted.filter(({ verdict }) => verdict === 'pass').length
  return {
    ...{ declared_capabilities, capabilities, measurements, passed, tested: counted.length },
    conformance_rate: counted.length === 0 ? 0 : rounded(passed / counted.length),
  }
}

/** The capabilities of a first store. All stores are created alike, so they declare the same. */
async function declaredOf({ stores }: Run): Promise<readonly string[]> {
  const store = await stores.open()
  return store.capabilities()
}

async function runProbe(probe: Probe, context: ProbeContext): Promise<CapabilityResult> {
  const { capability } = probe
  const { checks } = context
  if (!context.declared.has(capability)) {
    const stopped = await untilRefused(checks, () => checkAbsence(context, capability))
    const reason = stopped ?? 'the store does not declare it'
    return { capability, verdict: 'not_declared', reason, checks: checks.list, metrics: {} }
  }
  let found: ProbeResult = { metrics: {} }
  const stopped = await untilRefused(checks, async () => {
    found = await probe.run(context)
  })
  const failed = checks.list.find(({ passed }) => !passed)
  const missing = stopped ?? found.not_tested ?? null
  const verdict = failed ? 'fail' : missing === null ? 'pass' : 'not_tested'
  const reason = failed ? `${failed.name}: ${failed.detail}` : missing
  return { capability, verdict, reason, checks: checks.list, metrics: found.metrics }
}

/** Statuses that are due to the credential or the load, and say nothing about capabilities. */
const NO_VERDICT: readonly number[] = [401, 402, 403, 429, 503]

/** The reason why a capability cannot be tested, or null. Other refusals become failed checks. */
async function untilRefused(checks: Checks, run: () => Promise<void>): Promise<string | null> {
  try {
    await run()
    return null
  } catch (error) {
    if (error instanceof RequestRefused && NO_VERDICT.includes(error.status)) return error.message
    if (!(error instanceof RequestRefused || error instanceof MalformedAnswer)) throw error
    checks.add('requests are answered as the protocol says', false, error.message)
    return null
  }
}

/** The numbers of a workload without a verdict; none if the server refuses it. */
async function measure(context: ProbeContext, trace: Trace): Promise<Measurement> {
  let metrics: Measurement['metrics'] = {}
  await untilRefused(context.checks, async () => {
    metrics = scoresOf((await replayIn(context, trace)).observations)
  })
  return { workload: trace.workload, metrics }
}

const PROBES: readonly Probe[] = [
  auditProbe,
  supersessionProbe,
  biTemporalProbe,
  hardDeleteProbe,
  multiTenantProbe,
  provenanceProbe,
  signatureProbe,
  crossSessionProbe,
  conflictProbe,
  concurrencyProbe,
]

const probes: readonly Probe[] = GMP_CAPABILITIES.map((capability) => {
  const probe = PROBES.find((known) => known.capability === capability)
  if (!probe) throw new Error(`no probe of ${capability}`)
  return probe
})

type RunStores = {
  readonly store_ids: string[]
  /** @param wire a wire with another credential; default: the run's own */
  open(wire?: Wire): Promise<Store>
  /** Never throws; returns the stores that could not be removed. */
  removeAll(): Promise<Leftover[]>
}

/** @param cleaning a wire that an aborted run can still use */
function openRunStores(wire: Wire, cleaning: (of: Wire) => Wire): RunStores {
  const made: { store_id: string; of: Wire }[] = []
  const store_ids: string[] = []
  return {
    store_ids,
    async open(of = wire) {
      const store = await createStore(of, storeName())
      made.push({ store_id: store.store_id, of })
      store_ids.push(store.store_id)
      return store
    },
    async removeAll() {
      const left: Leftover[] = []
      // When the server does not answer, the remaining stores are not tried.
      let silent: string | null = null
      for (const { store_id, of } of made.splice(0)) {
        try {
          const reason: string | null = silent ?? (await remove(cleaning(of), store_id))
          if (reason !== null) left.push({ store_id, reason })
        } catch (error) {
          const reason = error instanceof Error ? error.message : 'unknown reason'
          left.push({ store_id, reason })
          if (error instanceof ConformanceError) silent = reason
        }
      }
      return left
    },
  }
}

const POLL_MS = 100
const POLLS_MAX = 300

/** Removes a store; returns null, or the reason why it still exists. */
async function remove(wire: Wire, store_id: string): Promise<string | null> {
  const path = `/v1/stores/${encodeURIComponent(store_id)}`
  const { status } = await wire('DELETE', path)
  if (status === 404 || status === 405) return deleteMemories(wire, store_id)
  if (status < 200 || status > 299) return `deleting it answered ${status}`
  for (let poll = 0; poll < POLLS_MAX; poll += 1) {
    const seen = await wire('GET', path)
    const state = isObject(seen.body) ? seen.body['state'] : undefined
    // A server without the operation to read a store is trusted: it acknowledged the deletion.
    if (seen.status >= 400 || state === 'deleted' || state === undefined) return null
    await sleep(POLL_MS)
  }
  return 'it is still being deleted'
}

/** Deletes every memory of a store, for servers that cannot delete stores. */
async function deleteMemories(wire: Wire, store_id: string): Promise<string> {
  const store = openStore(wire, store_id)
  for (const { ref } of await store.audit()) await store.erase(ref)
  return 'the server cannot delete a store; its memories were deleted'
}
