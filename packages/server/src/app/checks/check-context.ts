// A check of a tenant's data: what it works with, and what it reports: ids and numbers, no content.

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
  /** What does not hold. */
  readonly what: string
  /** Of the log's order as a whole: with each entry written its place and reason may be others. */
  readonly whole_log?: true
}

export type CheckFinding = Omit<Finding, 'tenant_id'>

/** One check; its findings are told from those of others by what they are about. */
export interface Check {
  /** Kind of the finding when the check itself fails. */
  readonly kind: CheckFinding['kind']
  /** The check of an assurance run that it is part of; null: of none. */
  readonly part: Exclude<DataCheck, 'clock'> | null
  run(context: CheckContext): AsyncGenerator<CheckFinding>
}

/** What the ledger held when the snapshot was taken. */
export interface LedgerState {
  readonly state: 'requested' | 'completed'
  /** The certificate as the ledger keeps it; null until completed. */
  readonly certificate: string | null
}

/** Rows counted on the way. */
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
  /** Read before the snapshot: what it says is done must be in the snapshot. */
  readonly ledger: ReadonlyMap<string, LedgerState>
  /** The newest checkpoint the keyring has seen signed. */
  readonly signed: StoredCheckpoint | null
  /** What the log says there is. */
  readonly log: LogSummary
  readonly counts: Counts
  /** Of more facts, or decisions, than its size only a sample is opened. */
  readonly sample?: Sample
  progress(text: string): void
}

export interface Sample {
  readonly size: number
  /** Chooses them: the same seed on the same data chooses the same. */
  readonly seed: string
  /** What the first round chose, by name, for the rounds after it; null: everything. */
  readonly chosen: Map<string, readonly number[] | null>
}

export interface LogSummary {
  /** Facts that each writing entry speaks of; entries are taken out once accounted for. */
  readonly written: Map<number, number>
  /** The newest `memory.erased` entry of a ref; taken out once its tombstone was seen. */
  readonly erased: Map<number, number>
  /** Digest and seq of each `erasure.certified` entry, by certificate. */
  readonly certified: Map<string, { seq: number; digest: string }>
  /** Digest and seq of each `conformance.audited` entry, by audit. */
  readonly audited: Map<string, { seq: number; digest: string }>
  /** Digest of the manifest of each `subject.erased` entry, by request. */
  readonly manifests: Map<string, string>
  /** The last entry about each record of a registry and each request for an approval. */
  readonly registered: LoggedRecords
  readonly governed: GovernedLog
  decisions: number
  /** The newest time of an entry, and the first one that is not after the one before. */
  last_at: string
  back_at: number | null
}

/**
 * Tells whether two rounds found the same. Without the numbers in the text: they are
 * counts and times, which go on while the service writes.
 */
export const findingKey = ({ kind, id, what, whole_log }: IdentifiedFinding): string =>
  JSON.stringify(whole_log ? [kind] : [kind, id, what.replaceAll(/\d+/g, '#')])

export type IdentifiedFinding = Omit<CheckFinding, 'kind'> & { readonly kind: string }

export const subjectKey = (kind: string, subject: string): string => `${kind} ${subject}`

/** A finding about each of these would say no more than the first thousand do. */
export const FINDINGS_MAX = 1_000
