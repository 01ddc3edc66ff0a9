// The description of a kind of record that each registry passes to the shared code.

import type { RecordStatus, RefusalCode, TrustTier } from '@custos/contract'
import type { JsonObject, RecordKind } from '@custos/proof'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { Refusal } from '../../platform/refusal.ts'
import type { Context } from '../governance/index.ts'

/** The tenant whose records are read, and the kernel to read them with. */
export interface TenantRecords {
  readonly kernel: Kernel
  readonly tenant_id: string
}

/** The first policy that denies a proposal. */
export type DenyingPolicy = {
  readonly policy_id: string
  readonly name: string
  readonly reason: string
}

/** A proposal that the policies admit, before it is signed. */
export interface AdmittedProposal<Q extends JsonObject = JsonObject> extends TenantRecords {
  readonly request: Q
  readonly record_id: string
  readonly proposal_digest: string
  readonly created_us: number
  readonly nonce: string
  /** The highest trust tier that the proposer may claim. `null` means no limit. */
  readonly ceiling: TrustTier | null
  /** 1, or one more than the version it replaces. */
  readonly version: number
  /** The id of the first version. */
  readonly series_id: string
}

/** A further effect in the unit of work that issues the record. */
export type RecordEffect = (tx: Tx, record_id: string) => Promise<void>

/** What a registry adds to a record that it issues. */
export interface RegistryFields {
  /** The registry's own members of the signed document. */
  readonly document: JsonObject
  readonly effect?: RecordEffect
}

/** The part of a registry that does not depend on the type of its requests. */
export interface RegistryIdentity {
  readonly kind: RecordKind
  readonly id_field: string
  /** The status of an issued record. */
  readonly issued_status: RecordStatus
  readonly not_found: RefusalCode
  /** The reply to a denial. Defaults to 403 `policy_denied`. */
  denial?(by: DenyingPolicy, record_id: string): Refusal
}

/** A kind of registry. `Q` is the normalised request of a proposal. */
export interface Registry<Q extends JsonObject = JsonObject> extends RegistryIdentity {
  readonly schema_version: string
  /** Whether escalated proposals wait for approval. If not, they are refused and not stored. */
  readonly approvable: boolean
  /** Whether records of one name are versions of one thing, of which the newest is live. */
  readonly series?: true
  /** The operation as policies name it. */
  operation(request: Q): string
  /** The context that policies evaluate. */
  context(request: Q, tenant: TenantRecords): Context | Promise<Context>
  /** Members of the request by context key, for keys whose member has another name. */
  readonly names?: Readonly<Record<string, string>>
  /** The content, which no two live records share. */
  content?(request: Q): string
  /** The name under which other registries find the record. */
  name?(request: Q): string
  /**
   * Runs after the policies, at the proposal and again at its approval. May read, and may refuse.
   */
  fields(proposal: AdmittedProposal<Q>): Promise<RegistryFields>
  /** A further effect in the unit of work that rejects the proposal. */
  onRejection?(request: Q, kernel: Kernel): RecordEffect
}
