// The result of a run: a verdict for each capability, with checks, numbers and evidence by id.

import { CONFORMANCE_CAPABILITIES } from '@custos/proof'
import type { Leftover } from '../client/wire.ts'

/** The version of the suite. It changes with workloads, checks or gates. */
export const SUITE_VERSION = 'custos-conformance/1'

/** The ten capabilities of the protocol, in the order they are reported. */
export const GMP_CAPABILITIES = CONFORMANCE_CAPABILITIES
export type GmpCapability = (typeof GMP_CAPABILITIES)[number]

/**
 * `not_declared`: the store does not claim it; its checks say whether using it was refused.
 * `not_tested`: declared, but it could not be tested with what was given; never counted.
 */
export const VERDICTS = ['pass', 'fail', 'not_declared', 'not_tested'] as const

/** `detail` says what was expected and names facts and refs, never their contents. */
export type ConformanceCheck = {
  readonly name: string
  readonly passed: boolean
  readonly detail: string
}

/** Shares are 0..1; everything else is a count. */
export type Metrics = Readonly<Record<string, number>>

export type CapabilityResult = {
  readonly capability: GmpCapability
  readonly verdict: (typeof VERDICTS)[number]
  /** The reason in one line: the first failure, or what was missing; null for a pass. */
  readonly reason: string | null
  readonly checks: readonly ConformanceCheck[]
  readonly metrics: Metrics
}

/** A workload that measures retrieval, without a verdict. */
export type Measurement = { readonly workload: string; readonly metrics: Metrics }

/** Plain JSON. Times are RFC 3339 in UTC; digests lower-case hex. */
export type ConformanceResult = {
  readonly suite_version: string
  readonly seed: number
  /** Token budget of each retrieval. */
  readonly budget: number
  readonly url_origin: string
  readonly server: { readonly version?: string }
  readonly started_at: string
  readonly completed_at: string
  /** Every store created for the run. */
  readonly store_ids: readonly string[]
  readonly leftovers: readonly Leftover[]
  /** The server's own answer, including names that the protocol does not define. */
  readonly declared_capabilities: readonly string[]
  readonly capabilities: readonly CapabilityResult[]
  readonly measurements: readonly Measurement[]
  readonly passed: number
  readonly tested: number
  /** passed / tested (M8); 0 when nothing could be tested. */
  readonly conformance_rate: number
  /** SHA-256 of the canonical JSON of all workloads of this seed. */
  readonly workload_digest: string
}
