// The interface of a keyring, the same for both engines.

import type { KeyObject } from 'node:crypto'

export type SecretKind = 'fact' | 'decision'

/** One key per purpose: a signature for one purpose never verifies for another. */
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
  /** A copy of the 32 bytes; `secret_destroyed` when an erasure has taken it since. */
  secretAt(number: number): Buffer
}

/** The keys of one tenant. Secrets are 32 bytes; derived keys are 256-bit. */
export interface TenantKeys {
  readonly tenant_id: string
  /** SHA-256(`custos/fact-key/v1` ‖ 0x0A ‖ tenant key ‖ secret). */
  factKey(secret: Buffer): KeyObject
  /**
   * SHA-256(`custos/decision-key/v1` ‖ 0x0A ‖ tenant key ‖ 16 id bytes ‖ secrets), the secrets
   * in the order given: destroying any one of them destroys the key.
   */
  decisionKey(decision_id: string, secrets: readonly Buffer[]): KeyObject
  /** Lower hex HMAC-SHA256 of the UTF-8 text under the tenant's label salt. */
  label(text: string): string
}

export interface Signer {
  readonly key_id: string
  /** 32 bytes. */
  readonly public_key: Buffer
  /** Ed25519 (RFC 8032), 64 bytes; `signing_key_retired` once the key is. */
  sign(message: Uint8Array): Buffer
  /** The same for many, in other threads at the same time: one alone would take longer so. */
  signAll(messages: readonly Uint8Array[]): Promise<Buffer[]>
}

/** The public half of a signing key, as it is listed for verifiers. */
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

/** The newest checkpoint of each tenant's log, outside the database it vouches for. */
export interface CheckpointStore {
  last(tenant_id: string): Promise<StoredCheckpoint | null>
  /** The last of every tenant that has one. */
  listLast(): Promise<TenantCheckpoint[]>
  /** The last of some tenant, of those whose text begins so; null: there is none. */
  any(begin?: string): Promise<TenantCheckpoint | null>
  /**
   * Durable here and in the ledger copy before it resolves. `checkpoint_conflict` for an older
   * generation, a smaller tree of the same generation, or another root at the same size.
   */
  save(tenant_id: string, checkpoint: StoredCheckpoint): Promise<void>
}

export interface SecretRef {
  readonly kind: SecretKind
  readonly number: number
}

/**
 * What is erased; a text is a record beside memories and decisions. A store's own entry ends
 * without a certificate: its facts have theirs. A scrub has none either: it takes a memory out of
 * decisions and leaves the memory. A tenant's entry destroys all keys of the tenant, also on a
 * restored keyring.
 */
export type LedgerSubjectKind = SecretKind | 'store' | 'scrub' | 'tenant' | 'text'

/** A secret that a record no longer needs after it is sealed again, and its replacement. */
export interface Renewal {
  readonly number: number
  readonly renewed_as: number
  /** Base64: the new secret sealed under the old one, see `sealRenewed`. */
  readonly box: string
}

/**
 * A piece of a plan that may be too large for one row. Of no effect until an entry claims all
 * parts of its `parts_id`.
 */
export interface LedgerPart {
  readonly tenant_id: string
  /** Unique to each plan. */
  readonly parts_id: string
  /** 0, 1, 2 … */
  readonly part: number
  /** JSON; no content. */
  readonly plan: unknown
  readonly renewals: readonly Renewal[]
}

/** Parts 0 … count-1, which may be the plan of several entries. */
export interface LedgerParts {
  readonly parts_id: string
  readonly count: number
}

export interface NewLedgerEntry {
  readonly tenant_id: string
  readonly subject_kind: LedgerSubjectKind
  /**
   * The ref in decimal, the id of the decision, scrub or tenant, a store's and its secret, or kind
   * and id of another record.
   */
  readonly subject: string
  readonly store_id: string | null
  readonly requested_us: number
  /** JSON; no content and no salt: it outlives what it erases. */
  readonly plan: unknown
  /**
   * The secrets this erasure destroys, also on a restored keyring. Absent: the one whose
   * number is the subject, when the subject is a decimal number; otherwise none.
   */
  readonly destroys?: readonly SecretRef[]
  /** Its parts, durable before it; their renewed secrets are destroyed like those above. */
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

/**
 * Permission to request erasures of one tenant, until a token with a greater number is issued.
 */
export interface FencingToken {
  readonly tenant_id: string
  readonly number: number
}

/** How much of a tenant is in the ledger. */
export interface LedgerCount {
  readonly tenant_id: string
  readonly requested: number
  /** With a certificate: of facts, decisions and texts. */
  readonly completed: number
  readonly scrubs: number
  readonly stores: number
}

/** What has been erased, kept apart from the data so that no restored backup loses it. */
export interface ErasureLedger {
  /**
   * Issues the tenant's next token. From here on the ledger refuses requests under an earlier one;
   * what those had requested is in the ledger or never will be. A plan made from what the ledger
   * lists after this misses nothing, however long another process was suspended.
   */
  issueFencingToken(tenant_id: string): Promise<FencingToken>
  /** Durable here and in the ledger copy before it resolves. */
  addPart(part: LedgerPart): Promise<void>
  /** Must be there: parts of an entry are kept as long as the entry. */
  loadPart(parts_id: string, part: number): Promise<LedgerPart>
  /**
   * Forgets parts that no entry claims, and destroys the secrets their records were sealed under.
   * Does nothing to parts that are claimed.
   */
  dropParts(parts_id: string): Promise<void>
  /** Destroys what the records in the parts no longer need; the parts must be claimed. */
  destroyRenewed(parts_id: string): Promise<void>
  /**
   * Durable here and in the ledger copy before it resolves; one transaction for all entries.
   * A subject already in the ledger returns its existing row. `stale_fencing_token`, and nothing is
   * kept, when the token is not the tenant's last. Without a token nothing is checked: for keyrings
   * that no other process has open.
   */
  request(entries: readonly NewLedgerEntry[], token?: FencingToken): Promise<LedgerEntry[]>
  /** Durable here and in the copy; a completed row keeps its first certificate. */
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
  /** Of facts, decisions and texts: each has its certificate. */
  countCompleted(tenant_id: string): Promise<number>
  /** Numbers of every tenant that is in the ledger. */
  countAll(): Promise<LedgerCount[]>
}

export interface RewriteResult {
  /** Secrets written again. */
  readonly secrets: number
  /** Deleted rows the files still hold because an older snapshot was open: run it again later. */
  readonly dead_rows_left: number
}

export interface BodyMac {
  readonly day: number
  /** Lower hex HMAC-SHA256. */
  readonly mac: string
}

export interface Keyring {
  /** 32 hex characters, made when the keyring was first opened. */
  readonly instance_id: string
  /** Ledger rows that opening added or completed from the ledger copy. */
  readonly merged_from_copy: number

  /** Idempotent; leaves a tenant that was destroyed as it is. */
  createTenant(tenant_id: string): Promise<void>
  /** Whether it was created here, also when it was destroyed since. */
  hasTenant(tenant_id: string): Promise<boolean>
  /** Whether the number was ever given out; also when its secret was destroyed since. */
  isReserved(tenant_id: string, kind: SecretKind, number: number): Promise<boolean>
  /** Ascending, without those destroyed. */
  listTenants(): Promise<string[]>
  /** Tenants whose keys were destroyed, ascending. */
  listDestroyedTenants(): Promise<string[]>
  /** `tenant_key_missing` when it was never created here, `tenant_destroyed` after that. */
  tenant(tenant_id: string): Promise<TenantKeys>
  /**
   * Overwrites the tenant's key, its label salt and every secret it ever had, here and in memory,
   * before it resolves; the row stays, so that the id is never given keys again. Other processes
   * follow within a second. Idempotent.
   */
  destroyTenant(tenant_id: string): Promise<void>
  /** Whether a key, a secret or a block of numbers of the tenant is there, whatever its number. */
  hasRemains(tenant_id: string): Promise<boolean>

  /**
   * The next numbers of this tenant and kind: at least `at_least`, never one that was handed
   * out before or that the ledger names, even after a crash. Durable before it resolves.
   */
  reserve(
    tenant_id: string,
    kind: SecretKind,
    options: { at_least: number; count?: number },
  ): Promise<SecretBlock>
  /** null: destroyed, or never made. Reading thousands at once is cheap. */
  secrets(
    tenant_id: string,
    kind: SecretKind,
    numbers: readonly number[],
  ): Promise<Map<number, Buffer | null>>
  /** Overwritten on disk and gone from memory before it resolves; idempotent. */
  destroySecrets(tenant_id: string, kind: SecretKind, numbers: readonly number[]): Promise<void>

  /** The current key of the purpose; `no_signing_key` when it was retired without successor. */
  signer(purpose: SigningPurpose): Signer
  /** Every key there ever was, retired ones included, by `valid_from`. */
  publishedKeys(): PublishedKey[]
  /** A new current key from `at` on; the old one is retired at `at` and its seed dropped. */
  rotateSigningKey(purpose: SigningPurpose, at: string): Promise<PublishedKey>
  /** Leaves the purpose without a key until the next rotation. */
  retireSigningKey(purpose: SigningPurpose, at: string): Promise<void>
  /** Wraps everything again under `next` (32 bytes) in one transaction. */
  rotateMasterKey(next: Buffer): Promise<void>

  /** HMAC under the key of a day (days since 1970-01-01); `day_key_dropped` for old days. */
  bodyMac(body: Uint8Array, day: number): Promise<BodyMac>
  /** false when the MAC is another's or the day's key is gone. */
  verifyBodyMac(body: Uint8Array, day: number, mac: string): Promise<boolean>
  /** Destroys the keys of days before `before_day`; how many. */
  dropDayKeys(before_day: number): Promise<number>

  readonly ledger: ErasureLedger
  readonly checkpoints: CheckpointStore

  /**
   * On PostgreSQL only: writes every secret again under new keys and rewrites the tables' files, so
   * that the remains of deleted rows open nothing. The role must own the tables.
   */
  rewriteSecrets?(): Promise<RewriteResult>

  /** One file, useless without the master key; see `restoreFileKeyring`. */
  backupTo(path: string): Promise<void>
  close(): void
}

/** Whether it has, or had, keys of a tenant: then there are data that belong to it. */
export const hasTenants = async (keyring: Keyring): Promise<boolean> =>
  [...(await keyring.listTenants()), ...(await keyring.listDestroyedTenants())].length > 0
