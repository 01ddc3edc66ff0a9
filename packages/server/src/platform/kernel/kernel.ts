// What every slice stands on, made once per process by the composition root.

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

/** Who has to cosign checkpoints. */
export interface WitnessPolicy {
  /** How many of them have to cosign an epoch before it counts as witnessed. */
  readonly required: number
  /** `key`: a vkey of signature type 4; `url`: add-checkpoint is appended to it. */
  readonly witnesses: readonly { readonly key: string; readonly url: string }[]
}

/** Who dates checkpoints (RFC 3161). */
export interface TimestampAuthority {
  /** Null: none is asked, and timestamps that are stored are checked. */
  readonly url: string | null
  /** Its certificate, or one above it. */
  readonly certificates: readonly X509Certificate[]
}

interface KernelSettings {
  /** Origin of checkpoints, without tenant. */
  readonly origin: string
  readonly version: string
  readonly auth: 'local' | 'required'
  readonly default_tokenizer: TokenizerName
  readonly index_bytes_max: number
  readonly index_wait_ms: number
  /** Where snapshots of indexes are; null: there are none. */
  readonly index_dir: string | null
  /** A process that ends without giving a lease back, of work or of a job, holds it this long. */
  readonly lease_ms: number
  /** Null: no plan has limits. */
  readonly plans: PlanTable | null
  /** Null: nobody pays. */
  readonly billing: BillingConfig | null
  readonly console_origins: readonly string[]
  /** How long a session lasts without a request, and at most. */
  readonly session_idle_us: number
  readonly session_us: number
  /** Where browsers reach the service; null: where it listens. */
  readonly public_url: string | null
  /** Proxies in front of the service, whose `X-Forwarded-For` is believed. */
  readonly trusted_proxies: AddressList
  /** Whether the verify page is served. */
  readonly pages: boolean
  /** Null: checkpoints are offered to nobody. */
  readonly witnesses: WitnessPolicy | null
  /** Null: checkpoints have no timestamps. */
  readonly timestamps: TimestampAuthority | null
}

export interface Kernel {
  readonly settings: KernelSettings
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  readonly metrics: Metrics
  /** Null: no spans are made. */
  readonly tracer: Tracer | null
  readonly db: Database
  readonly keyring: Keyring
  readonly jobs: JobQueue
  readonly embedders: Embedders
  /** The only way to a URL that a tenant chose. */
  readonly egress: Egress
  tokenizer(name: TokenizerName): Promise<Tokenizer>
  /** A named point that crash tests stop at; does nothing in service. */
  step(name: string): void | Promise<void>
}

/**
 * State a slice keeps in memory for one kernel (an index, a cache), made on first use.
 * Two kernels in one process, as in tests, never share it.
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

/** In milliseconds; less in tests. */
export const jobChunkLength: (kernel: Kernel) => { ms: number } = perKernel(() => ({ ms: 2_000 }))

/** When the index of a store is worth a snapshot; less in tests. */
export const indexSnapshotPolicy = perKernel(() => ({
  /** Smaller ones are built from rows about as soon. */
  facts_min: 5_000,
  /** Changed facts since the last one: as many, and as large a part of the index. */
  changes_min: 20_000,
  changes_share: 0.25,
  /** At the end of the process. */
  changes_min_at_stop: 2_000,
  /** Without one, as after an erasure: tried again after so long. */
  retry_ms: 600_000,
}))

/** After every job that is due by now. */
export const NEXT_CHUNK: JobPause = { again_ms: 0 }

/** Whether the chunk is over; asked after each batch, so that a chunk has at least one. */
export function beginJobChunk(kernel: Kernel): () => boolean {
  const ends = performance.now() + jobChunkLength(kernel).ms
  return () => performance.now() >= ends
}
