// The context of a check of a tenant's data, and its findings: ids and numbers, no content.

import type { PublishedKey } from '@custos/proof'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { StoredCheckpoint } from '../../platform/keys/keyring.ts'
import type { DataCheck } from '../../slices/assurance/index.ts'
import type { LoggedRecords } from '../../slices/records/index.ts'
import type { GovernedLog } from '../../slices/tenants/index.ts'

export interface Finding {
  readonly tenant_id: string
  readonly kind:
    | 'log'
    | 'store'
    | 'fact'
    | 'validity'
    | 'tombstone'
    | 'decision'
    | 'certificate'
    | 'policy'
    | 'record'
    | 'approval'
    | 'reputation'
    | 'receipt'
    | 'audit'
    | 'manifest'
    | 'usage'
    | 'file'
  /** Ref, seq or id of the row. */
  readonly id: string
  /** The condition that does not hold. */
  readonly what: string
  /** True for the order of the log as a whole: place and reason may change with each new entry. */
  readonly whole_log?: true
}

export type CheckFinding = Omit<Finding, 'tenant_id'>

/** One check. Findings of different checks differ in what they are about. */
export interface Check {
  /** Kind of the finding when the check itself fails. */
  readonly kind: CheckFinding['kind']
  /** The part of an assurance run that runs it, or null. */
  readonly part: Exclude<DataCheck, 'clock'> | null
  run(context: CheckContext): AsyncGenerator<CheckFinding>
}

/** The state of the ledger when the snapshot was taken. */
export interface LedgerState {
  readonly state: 'requested' | 'completed'
  /** The certificate in the ledger; null until completed. */
  readonly certificate: string | null
}

/** Numbers of the checked rows. */
export interface Counts {
  entries: number
  epochs: number
  /** Epochs that enough witnesses cosigned. */
  witnessed: number
  stores: number
  facts: number
  tombstones: number
  decisions: number
  certificates: number
}

/** One tenant on one snapshot. */
export interface CheckContext {
  readonly kernel: Kernel
  readonly db: TenantDb
  readonly keys: readonly PublishedKey[]
  /** Read before the snapshot, so that everything it says is done must be in the snapshot. */
  readonly ledger: ReadonlyMap<string, LedgerState>
  /** The newest signed checkpoint that the keyring has. */
  readonly signed: StoredCheckpoint | null
  /** What the other tables must hold according to the log. */
  readonly log: LogSummary
  readonly counts: Counts
  /** If set, larger numbers of facts or decisions than its size are only sampled. */
  readonly sample?: Sample
  progress(text: string): void
}

export interface Sample {
  readonly size: number
  /** Seed of the choice: the same seed on the same data gives the same sample. */
  readonly seed: string
  /** The choice of the first round by name, for the rounds after it; null for everything. */
  readonly chosen: Map<string, readonly number[] | null>
}

export interface LogSummary {
  /** Number of facts in each writing entry; entries are removed once accounted for. */
  readonly written: Map<number, number>
  /** The newest `memory.erased` entry of each ref; removed once its tombstone is seen. */
  readonly erased: Map<number, number>
  /** Digest and seq of each `erasure.certified` entry, by certificate. */
  readonly certified: Map<string, { seq: number; digest: string }>
  /** Digest and seq of each `conformance.audited` entry, by audit. */
  readonly audited: Map<string, { seq: number; digest: string }>
  /** Digest of the manifest of each `subject.erased` entry, by request. */
  readonly manifests: Map<string, string>
  /** The last entry about each record of a registry and each approval request. */
  readonly registered: LoggedRecords
  readonly governed: GovernedLog
  decisions: number
  /** The newest time of an entry; `back_at` is the first entry not later than the one before. */
  last_at: string
  back_at: number | null
}

/**
 * Identifies a finding across rounds. Ignores numbers in its text, because they are counts and
 * times, which change while the service writes.
 */
export const findingKey = ({ kind, id, what, whole_log }: IdentifiedFinding): string =>
  JSON.stringify(whole_log ? [kind] : [kind, id, what.replaceAll(/\d+/g, '#')])

export type IdentifiedFinding = Omit<CheckFinding, 'kind'> & { readonly kind: string }

export const subjectKey = (kind: string, subject: string): string => `${kind} ${subject}`

/** More than a thousand similar findings would add no information. */
export const FINDINGS_MAX = 1_000
