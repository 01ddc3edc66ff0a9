// What a registry tells the kit about its kind of record.

import type { RecordStatus, RefusalCode, TrustTier } from '@custos/contract'
import type { JsonObject, RecordKind } from '@custos/proof'
import type { Principal } from '../../platform/call.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import type { Refusal } from '../../platform/refusal.ts'
import type { Context } from '../governance/index.ts'

/** The first policy that denies it. */
export type DenyingPolicy = {
  readonly policy_id: string
  readonly name: string
  readonly reason: string
}

/** A proposal that the policies let pass, before it is signed. */
export interface AdmittedProposal<Q extends JsonObject = JsonObject> {
  readonly kernel: Kernel
  readonly tenant_id: string
  /** Who asked; on an approval who decides. */
  readonly principal: Principal
  /** The most trust that whoever asked may claim; null: whatever is claimed. */
  readonly ceiling: TrustTier | null
  readonly record_id: string
  readonly created_us: number
  readonly request: Q
  /** 1, or one more than the version it follows. */
  readonly version: number
  /** The id of the first version. */
  readonly series_id: string
}

/** What the unit does in which a record comes to stand. */
export type RecordEffect = (tx: Tx, record_id: string) => Promise<void>

export interface Registry<Q extends JsonObject = JsonObject> {
  readonly kind: RecordKind
  readonly id_field: string
  readonly schema_version: string
  /** The status of a record that stands. */
  readonly standing: RecordStatus
  /** False: what a policy escalates or denies is refused, and nothing is kept of it. */
  readonly waits: boolean
  readonly not_found: RefusalCode
  /** Records of one name are versions of one thing, the newest of which is live. */
  readonly series?: true
  operation(request: Q): string
  context(request: Q): Context
  /** Context keys that have another name in the request. */
  readonly names?: Readonly<Record<string, string>>
  /** Two live records never have the same. */
  content?(request: Q): string
  /** What others look it up by. */
  name?(request: Q): string
  /**
   * The registry's own members of the document. Asked when proposed, after the policies, and again
   * when approved; it may look things up, and refuse.
   */
  fields(proposed: AdmittedProposal<Q>): Promise<JsonObject>
  /** Prepares what goes with a record that comes to stand. */
  effect?(proposed: AdmittedProposal<Q>): Promise<RecordEffect>
  /** What a denial answers; otherwise 403 `policy_denied`. */
  denial?(by: DenyingPolicy, record_id: string): Refusal
}
