// What every slice depends on: created once per process by the composition root.

import type { X509Certificate } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Database } from '../db/database.ts'
import type { AddressList } from '../egress/addresses.ts'
import type { Egress } from '../egress/egress.ts'
import type { Embedders } from '../embed/embedder.ts'
import type { Ids } from '../ids.ts'
import type { JobPause, JobQueue } from '../jobs/queue.ts'
import type { Keyring } from '../keys/keyring.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Tracer } from '../telemetry/tracer.ts'
import type { Tokenizer, TokenizerName } from '../tokens/tokenizer.ts'
import type { BillingConfig, PlanTable } from './plan-limits.ts'

/** The witnesses that have to cosign checkpoints. */
export interface WitnessPolicy {
  /** How many witnesses have to cosign an epoch before it counts as witnessed. */
  readonly required: number
  /** `key`: a vkey of signature type 4; `url`: add-checkpoint is appended to it. */
  readonly witnesses: readonly { readonly key: string; readonly url: string }[]
}

/** The authority that timestamps checkpoints (RFC 3161). */
export interface TimestampAuthority {
  /** Null if no timestamps are requested; stored ones are still checked. */
  readonly url: string | null
  /** Its certificate, or an issuer's certificate above it. */
  readonly certificates: readonly X509Certificate[]
}

interface KernelSettings {
  /** Origin line of checkpoints, without the tenant. */
  readonly origin: string
  readonly version: string
  readonly auth: 'local' | 'required'
  readonly default_tokenizer: TokenizerName
  readonly index_bytes_max: number
  readonly index_wait_ms: number
  /** Directory of index snapshots; null if none are kept. */
  readonly index_dir: string | null
  /** Duration of leases of work and jobs: how long the lease of a killed process stays held. */
  readonly lease_ms: number
  /** Null if no plan has limits. */
  readonly plans: PlanTable | null
  /** Null if the service does not bill. */
  readonly billing: BillingConfig | null
  readonly console_origins: readonly string[]
  /** Maximum idle time of a session. */
  readonly session_idle_us: number
  readonly session_us: number
  /** URL under which browsers reach the service; null for the address it listens on. */
  readonly public_url: string | null
  /** Proxies in front of the service, whose `X-Forwarded-For` is trusted. */
  readonly trusted_proxies: AddressList
  /** Whether the verify page is served. */
  readonly pages: boolean
  /** Null if checkpoints are not sent to witnesses. */
  readonly witnesses: WitnessPolicy | null
  /** Null if checkpoints have no timestamps. */
  readonly timestamps: TimestampAuthority | null
}

export interface Kernel {
  readonly settings: KernelSettings
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  readonly metrics: Metrics
  /** Null if tracing is off. */
  readonly tracer: Tracer | null
  readonly db: Database
  readonly keyring: Keyring
  readonly jobs: JobQueue
  readonly embedders: Embedders
  /** The only way to reach a URL that a tenant chose. */
  readonly egress: Egress
  tokenizer(name: TokenizerName): Promise<Tokenizer>
  /** A named point at which crash tests stop the process; does nothing in production. */
  step(name: string): void | Promise<void>
}

/**
 * State that a slice keeps in memory for one kernel (an index, a cache), created on first use. Two
 * kernels in one process, as in tests, never share it.
 */
export function perKernel<T>(make: (kernel: Kernel) => T): (kernel: Kernel) => T {
  const made = new WeakMap<Kernel, T>()
  return (kernel) => {
    const known = made.get(kernel)
    if (known !== undefined) return known
    const fresh = make(kernel)
    made.set(kernel, fresh)
    return fresh
  }
}

/** Duration of one chunk of a job in milliseconds; tests shorten it. */
export const jobChunkLength: (kernel: Kernel) => { ms: number } = perKernel(() => ({ ms: 2_000 }))

/** When the index of a store is worth a snapshot; tests lower the limits. */
export const indexSnapshotPolicy = perKernel(() => ({
  /** Smaller indexes are built from rows about as fast. */
  facts_min: 5_000,
  /** Facts changed since the last snapshot: at least this number and this share of the index. */
  changes_min: 20_000,
  changes_share: 0.25,
  /** The same at the end of the process. */
  changes_min_at_stop: 2_000,
  /** How long to wait before a new attempt when no snapshot was made, as after an erasure. */
  retry_ms: 600_000,
}))

/** Continues the job after every other job that is due by now. */
export const NEXT_CHUNK: JobPause = { again_ms: 0 }

/** Returns whether the chunk is over. Call it after each batch: a chunk has at least one. */
export function beginJobChunk(kernel: Kernel): () => boolean {
  const ends = performance.now() + jobChunkLength(kernel).ms
  return () => performance.now() >= ends
}
