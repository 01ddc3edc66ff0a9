// The interface that looks at a tenant's data. The composition root hands it in, with the
// consistency check.

import type { AssuranceCheck, CheckResult } from '@custos/contract'
import type { JsonObject } from '@custos/proof'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import type { AuditMeasure } from '../compliance/index.ts'

/** Checks that read the tenant's data. */
export type DataCheck = Exclude<AssuranceCheck, 'conformance'>

export interface CheckTask {
  readonly tenant_id: string
  readonly checks: readonly DataCheck[]
  /** The seed that selects the samples. */
  readonly seed: string
  /** The log's size at the baseline, to check that the log still begins with the same entries. */
  readonly baseline_size: number | null
}

/** Counts and digests of a tenant's data on one snapshot, without any stored content. */
export interface TenantObservation {
  readonly log: {
    readonly tree_size: number
    readonly root_hash: string | null
    readonly generation: number
  }
  readonly counts: Readonly<
    Record<
      'stores' | 'facts' | 'tombstones' | 'decisions' | 'certificates' | 'policies_in_force',
      number
    >
  >
  readonly policies: { readonly policy_set: number; readonly digest: string }
  readonly keys: { readonly digest: string; readonly key_ids: readonly string[] }
}

export interface CheckReport {
  readonly results: Partial<Record<DataCheck, CheckResult>>
  readonly observed: TenantObservation
  /** The root of the first `baseline_size` entries. `null` if the log has fewer. */
  readonly baseline_root: string | null
}

export interface AuditResult {
  /** The result in the form that the suite reports it. */
  readonly result: JsonObject
  readonly measured: AuditMeasure
}

export interface TenantChecker {
  /** Runs in a thread of its own and writes nothing. Rejects with CheckStopped after `stop`. */
  look(task: CheckTask): Promise<CheckReport>
  /**
   * Runs the conformance suite against this service over HTTP; null: it does not listen yet.
   * `onStore` is called before anything is written to the store.
   */
  audit(task: {
    readonly api_key: string
    readonly seed: string
    onStore(store_id: string): void
  }): Promise<AuditResult | null>
  stop(): Promise<void>
}

/** The process is ending, so the running check is cancelled. */
export class CheckStopped extends Error {}

const lookers = perKernel((): { looker: TenantChecker | null } => ({ looker: null }))

export function setChecker(kernel: Kernel, looker: TenantChecker): void {
  lookers(kernel).looker = looker
}

/** Throws if no checker was set: a kernel without a service checks nothing. */
export function checkerOf(kernel: Kernel): TenantChecker {
  const { looker } = lookers(kernel)
  if (looker === null) throw new Error('nothing was handed in that looks at the data')
  return looker
}
