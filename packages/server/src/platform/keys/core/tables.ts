// The tables of a keyring: those of both engines, and those of PostgreSQL only.

import type { Generated } from 'kysely'
import type { LedgerSubjectKind, SecretKind } from '../keyring.ts'

export interface KeyringTables {
  instance: {
    /** Always 1. */
    singleton: number
    /** 32 hex characters. */
    instance_id: string
    /** Wrapped under the master key, like `mac_root`. */
    master_check: Uint8Array
    mac_root: Uint8Array
    /** Keys of days before this one are destroyed. */
    day_floor: number
    /** keyring.db only: end (exclusive) of the slots in use. */
    slots_end?: number
  }
  /** A destroyed tenant keeps its row, with empty keys. */
  tenants: { tenant_id: string; tenant_key: Uint8Array; label_salt: Uint8Array }
  /** Numbers `first … first+count-1` of a tenant, each handed out once. */
  secret_blocks: {
    tenant_id: string
    kind: SecretKind
    first: number
    count: number
    /** keyring.db only: the slot of number `first`. */
    slot?: number
  }
  signing_keys: {
    ordinal: Generated<number>
    key_id: string
    purpose: string
    public_key: Uint8Array
    /** Wrapped under the master key; null once retired. */
    seed: Uint8Array | null
    valid_from: string
    retired_at: string | null
  }
  ledger: {
    ledger_id: number
    tenant_id: string
    subject_kind: LedgerSubjectKind
    subject: string
    store_id: string | null
    /** JSON, like `plan` and `certificate`. */
    destroys: string
    state: 'requested' | 'completed'
    requested_us: number
    completed_us: Generated<number | null>
    plan: string
    parts_id: string | null
    parts: number
    certificate: Generated<string | null>
  }
  ledger_parts: {
    parts_id: string
    part: number
    tenant_id: string
    /** JSON. */
    plan: string
    /** PostgreSQL only: the process that adds to the plan; null for a part from a ledger copy. */
    process_id?: string | null
  }
  ledger_renewals: {
    parts_id: string
    number: number
    tenant_id: string
    part: number
    renewed_as: number
    /** Base64: the new secret sealed under the old one. */
    box: string
  }
  /** Secrets that the ledger destroys. */
  ledger_secrets: { tenant_id: string; kind: SecretKind; number: number }
  checkpoints: {
    tenant_id: string
    generation: number
    epoch_number: number
    tree_size: number
    root_hash: string
    checkpoint: string
  }
  /** keyring.db only: the slot of each day's key. */
  day_keys: { day: number; slot: number }
  /** These tables are on PostgreSQL only. */
  counters: { name: string; value: number }
  ledger_turns: { tenant_id: string; number: number }
  processes: { process_id: string; seen_at: Date }
  secrets: {
    tenant_id: string
    kind: SecretKind | 'day'
    number: number
    version: number
    secret: Buffer
  }
  wrap_keys: { tenant_id: string; version: number; wrap_key: Buffer }
}

/** A renewed secret of a plan; see `renewals.ts`. */
export type RenewalRow = Readonly<Omit<KeyringTables['ledger_renewals'], 'parts_id' | 'part'>>

export type LedgerSecretRow = Readonly<KeyringTables['ledger_secrets']>
