// The interface of a keyring, the same for both engines.

import type { KeyObject } from 'node:crypto'

export type SecretKind = 'fact' | 'decision'

/** One key per purpose, so that a signature for one purpose never verifies for another. */
export const SIGNING_PURPOSES = [
  'decision',
  'provenance',
  'checkpoint',
  'erasure',
  'record',
  'cgr_attestation',
  'receipt',
  'webhook',
] as const

export type SigningPurpose = (typeof SIGNING_PURPOSES)[number]

/** Numbers `first … first+count-1`, each with a 32-byte secret that is already durable. */
export interface SecretBlock {
  readonly first: number
  readonly count: number
  /** A copy of the 32 bytes. Throws `secret_destroyed` if an erasure has destroyed it since. */
  secretAt(number: number): Buffer
}

/** The keys of one tenant. Secrets are 32 bytes; derived keys are 256-bit. */
export interface TenantKeys {
  readonly tenant_id: string
  /** SHA-256(`custos/fact-key/v1` ‖ 0x0A ‖ tenant key ‖ secret). */
  factKey(secret: Buffer): KeyObject
  /**
   * SHA-256(`custos/decision-key/v1` ‖ 0x0A ‖ tenant key ‖ 16 id bytes ‖ secrets), with the secrets
   * in the given order: destroying any one of them destroys the key.
   */
  decisionKey(decision_id: string, secrets: readonly Buffer[]): KeyObject
  /** Lower hex HMAC-SHA256 of the UTF-8 text under the tenant's label salt. */
  label(text: string): string
}

export interface Signer {
  readonly key_id: string
  /** 32 bytes. */
  readonly public_key: Buffer
  /** Ed25519 (RFC 8032), 64 bytes. Throws `signing_key_retired` once the key is retired. */
  sign(message: Uint8Array): Buffer
  /** Signs many messages in parallel threads. For a single message `sign` is faster. */
  signAll(messages: readonly Uint8Array[]): Promise<Buffer[]>
}

/** The public half of a signing key, as published for verifiers. */
export interface PublishedKey {
  readonly key_id: string
  readonly purpose: string
  /** 32 bytes Ed25519, lower hex. */
  readonly public_key: string
  /** RFC 3339, six fractional digits, `Z`. */
  readonly valid_from: string
  readonly retired_at: string | null
}

export interface StoredCheckpoint {
  readonly generation: number
  readonly epoch_number: number
  readonly tree_size: number
  /** Lower hex. */
  readonly root_hash: string
  /** The signed note, as text. */
  readonly checkpoint: string
}

export interface TenantCheckpoint extends StoredCheckpoint {
  readonly tenant_id: string
}

/** The newest checkpoint of each tenant's log, kept outside the database that it vouches for. */
export interface CheckpointStore {
  last(tenant_id: string): Promise<StoredCheckpoint | null>
  /** The last checkpoint of every tenant that has one. */
  listLast(): Promise<TenantCheckpoint[]>
  /** The last checkpoint of any tenant whose text starts with `begin`; null if there is none. */
  any(begin?: string): Promise<TenantCheckpoint | null>
  /**
   * Durable here and in the ledger copy when it resolves. Throws `checkpoint_conflict` for an older
   * generation, a smaller tree of the same generation, or another root at the same size.
   */
  save(tenant_id: string, checkpoint: StoredCheckpoint): Promise<void>
}

export interface SecretRef {
  readonly kind: SecretKind
  readonly number: number
}

/**
 * What is erased; a text is a record other than memories and decisions. The entry of a store has no
 * certificate of its own, because each of its facts has one. Nor has a scrub, which removes a
 * memory from decisions and keeps the memory. A tenant's entry destroys all keys of the tenant,
 * also in a restored keyring.
 */
export type LedgerSubjectKind = SecretKind | 'store' | 'scrub' | 'tenant' | 'text'

/** A secret that a record no longer needs once it is sealed again, and its replacement. */
export interface Renewal {
  readonly number: number
  readonly renewed_as: number
  /** Base64 of the new secret sealed under the old one; see `sealRenewed`. */
  readonly box: string
}

/**
 * A part of a plan, which may be too large for one row. It has no effect until an entry claims all
 * parts of its `parts_id`.
 */
export interface LedgerPart {
  readonly tenant_id: string
  /** Unique per plan. */
  readonly parts_id: string
  /** 0, 1, 2 … */
  readonly part: number
  /** JSON, without content of memories. */
  readonly plan: unknown
  readonly renewals: readonly Renewal[]
}

/** Parts 0 … count-1. Several entries may share them as their plan. */
export interface LedgerParts {
  readonly parts_id: string
  readonly count: number
}

export interface NewLedgerEntry {
  readonly tenant_id: string
  readonly subject_kind: LedgerSubjectKind
  /**
   * The ref in decimal; the id of the decision, scrub or tenant; the ids of a store and its secret;
   * or the kind and id of another record.
   */
  readonly subject: string
  readonly store_id: string | null
  readonly requested_us: number
  /** JSON, without content or salt, because it outlives what it erases. */
  readonly plan: unknown
  /**
   * The secrets that this erasure destroys, also in a restored keyring. If absent and the subject
   * is a decimal number, the secret with that number; otherwise none.
   */
  readonly destroys?: readonly SecretRef[]
  /** Parts of its plan, already durable; the secrets they renew are destroyed like those above. */
  readonly parts?: LedgerParts | null
}

export interface LedgerEntry extends NewLedgerEntry {
  readonly ledger_id: number
  readonly destroys: readonly SecretRef[]
  readonly parts: LedgerParts | null
  readonly state: 'requested' | 'completed'
  readonly completed_us: number | null
  readonly certificate: unknown
}

export interface LedgerCompletion {
  readonly ledger_id: number
  readonly certificate: unknown
  readonly completed_us: number
}

/** Permission to request erasures of one tenant, valid until a greater token is issued. */
export interface FencingToken {
  readonly tenant_id: string
  readonly number: number
}

/** Number of ledger entries of a tenant, by kind. */
export interface LedgerCount {
  readonly tenant_id: string
  readonly requested: number
  /** Entries with a certificate: of facts, decisions and texts. */
  readonly completed: number
  readonly scrubs: number
  readonly stores: number
}

/** The record of all erasures, kept apart from the data so that no restored backup loses it. */
export interface ErasureLedger {
  /**
   * Issues the tenant's next token. From then on the ledger refuses requests under earlier tokens;
   * what those have requested is in the ledger already. So a plan made from what the ledger lists
   * after this call misses nothing, however long another process was suspended.
   */
  issueFencingToken(tenant_id: string): Promise<FencingToken>
  /** Durable here and in the ledger copy when it resolves. */
  addPart(part: LedgerPart): Promise<void>
  /** The part must exist: the parts of an entry are kept as long as the entry. */
  loadPart(parts_id: string, part: number): Promise<LedgerPart>
  /**
   * Drops parts that no entry claims, and destroys the new secrets of their records. Does nothing
   * to claimed parts.
   */
  dropParts(parts_id: string): Promise<void>
  /** Destroys the secrets that the renewals replaced; the parts must be claimed. */
  destroyRenewed(parts_id: string): Promise<void>
  /**
   * Durable here and in the ledger copy when it resolves; one transaction for all entries. Returns
   * the existing row for a subject that is in the ledger. Throws `stale_fencing_token` and keeps
   * nothing if the token is not the tenant's last. Without a token nothing is checked, which is
   * only for keyrings that no other process has open.
   */
  request(entries: readonly NewLedgerEntry[], token?: FencingToken): Promise<LedgerEntry[]>
  /** Durable here and in the copy when it resolves. A completed row keeps its first certificate. */
  complete(done: readonly LedgerCompletion[]): Promise<void>
  find(tenant_id: string, kind: LedgerSubjectKind, subject: string): Promise<LedgerEntry | null>
  listRequested(): Promise<LedgerEntry[]>
  /** Rows with `ledger_id > after`, ascending. */
  list(tenant_id: string, options: { after: number; limit: number }): Promise<LedgerEntry[]>
  /** Rows of one kind with `ledger_id < before`, newest first. */
  listNewest(
    tenant_id: string,
    kind: LedgerSubjectKind,
    options: { before: number; limit: number },
  ): Promise<LedgerEntry[]>
  /** Completed entries of facts, decisions and texts: those that have a certificate. */
  countCompleted(tenant_id: string): Promise<number>
  /** Counts of every tenant that is in the ledger. */
  countAll(): Promise<LedgerCount[]>
}

export interface RewriteResult {
  /** Number of secrets that were sealed again. */
  readonly secrets: number
  /** Deleted rows still in the files because of an older snapshot; if any, run it again later. */
  readonly dead_rows_left: number
}

export interface BodyMac {
  readonly day: number
  /** Lower hex HMAC-SHA256. */
  readonly mac: string
}

export interface Keyring {
  /** 32 hex characters, generated when the keyring was first opened. */
  readonly instance_id: string
  /** Ledger rows that were added or completed from the ledger copy at open. */
  readonly merged_from_copy: number

  /** Idempotent; does not change a destroyed tenant. */
  createTenant(tenant_id: string): Promise<void>
  /** Whether the tenant was ever created here, even if it is destroyed now. */
  hasTenant(tenant_id: string): Promise<boolean>
  /** Whether the number was ever handed out, even if its secret is destroyed now. */
  isReserved(tenant_id: string, kind: SecretKind, number: number): Promise<boolean>
  /** Tenants that are not destroyed, ascending. */
  listTenants(): Promise<string[]>
  /** Tenants whose keys were destroyed, ascending. */
  listDestroyedTenants(): Promise<string[]>
  /** Throws `tenant_key_missing` if never created here, `tenant_destroyed` if destroyed. */
  tenant(tenant_id: string): Promise<TenantKeys>
  /**
   * Overwrites the tenant's key, its label salt and every secret it ever had, on disk and in
   * memory, before it resolves. The row stays, so that the id never gets keys again. Other
   * processes follow within a second. Idempotent.
   */
  destroyTenant(tenant_id: string): Promise<void>
  /** Whether the tenant has any key, secret or block of numbers left. */
  hasRemains(tenant_id: string): Promise<boolean>

  /**
   * Reserves the next numbers of this tenant and kind: at least `at_least`, and never one that was
   * handed out before or that the ledger names, even after a crash. Durable when it resolves.
   */
  reserve(
    tenant_id: string,
    kind: SecretKind,
    options: { at_least: number; count?: number },
  ): Promise<SecretBlock>
  /** A secret is null if it is destroyed or never existed. Reading thousands at once is cheap. */
  secrets(
    tenant_id: string,
    kind: SecretKind,
    numbers: readonly number[],
  ): Promise<Map<number, Buffer | null>>
  /** When it resolves, the secrets are overwritten on disk and gone from memory. Idempotent. */
  destroySecrets(tenant_id: string, kind: SecretKind, numbers: readonly number[]): Promise<void>

  /** The current key of the purpose. Throws `no_signing_key` if retired without a successor. */
  signer(purpose: SigningPurpose): Signer
  /** Every key that ever existed, retired ones included, ordered by `valid_from`. */
  publishedKeys(): PublishedKey[]
  /** Creates a key that is current from `at` on; retires the old one then and deletes its seed. */
  rotateSigningKey(purpose: SigningPurpose, at: string): Promise<PublishedKey>
  /** Leaves the purpose without a key until the next rotation. */
  retireSigningKey(purpose: SigningPurpose, at: string): Promise<void>
  /** Wraps all keys again under `next` (32 bytes), in one transaction. */
  rotateMasterKey(next: Buffer): Promise<void>

  /** HMAC under the key of a day (days since 1970-01-01). Throws `day_key_dropped` for old days. */
  bodyMac(body: Uint8Array, day: number): Promise<BodyMac>
  /** Returns false if the MAC is of another body or the day's key is destroyed. */
  verifyBodyMac(body: Uint8Array, day: number, mac: string): Promise<boolean>
  /** Destroys the keys of days before `before_day`; returns how many. */
  dropDayKeys(before_day: number): Promise<number>

  readonly ledger: ErasureLedger
  readonly checkpoints: CheckpointStore

  /**
   * On PostgreSQL only: writes every secret again under new keys and rewrites the tables' files, so
   * that the remains of deleted rows open nothing. The role must own the tables.
   */
  rewriteSecrets?(): Promise<RewriteResult>

  /** Writes one file, useless without the master key; see `restoreFileKeyring`. */
  backupTo(path: string): Promise<void>
  close(): void
}

/** Whether the keyring has or had keys of a tenant, which means that data depend on it. */
export const hasTenants = async (keyring: Keyring): Promise<boolean> =>
  [...(await keyring.listTenants()), ...(await keyring.listDestroyedTenants())].length > 0
