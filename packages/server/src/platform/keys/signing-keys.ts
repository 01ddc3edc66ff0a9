// The instance's signing keys: one current per purpose, every one ever used published.

import type { Signer, SigningPurpose } from './keyring.ts'
import type { KeyringDb } from './keyring-db.ts'
import { KeyringError } from './keyring-error.ts'
import type { PublishedKey } from './published-key.ts'
import { type SigningKey, signWith } from './signer.ts'
import {
  newSigningKeyRow,
  openSigningKey,
  publishedOf,
  requireLaterChange,
  rewrapSeed,
  SIGNING_PURPOSES,
} from './signing-key-rows.ts'
import {
  insertSigningKey,
  listSigningKeys,
  type SigningKeyRow,
  updateRetired,
  updateSeed,
} from './signing-keys.sql.ts'
import type { MasterHolder } from './wrap.ts'

export class SigningKeys {
  readonly #db: KeyringDb
  readonly #master: MasterHolder
  readonly #signers = new Map<string, Signer>()
  #published: readonly PublishedKey[] = []
  #retired: ReadonlySet<string> = new Set()

  constructor(db: KeyringDb, master: MasterHolder) {
    this.#db = db
    this.#master = master
    this.#reload()
  }

  /** Purposes that never had a key get one; one retired without successor stays without. */
  createMissing(at: string): void {
    const missing = SIGNING_PURPOSES.filter(
      (purpose) => !this.#published.some((key) => key.purpose === purpose),
    )
    if (missing.length === 0) return
    this.#db.transact(() => {
      for (const purpose of missing) this.#insert(purpose, at)
    })
    this.#reload()
  }

  signer(purpose: SigningPurpose): Signer {
    const signer = this.#signers.get(purpose)
    if (signer) return signer
    throw new KeyringError('no_signing_key', `no current signing key for ${purpose}`)
  }

  published(): PublishedKey[] {
    return this.#published.map((key) => ({ ...key }))
  }

  rotate(purpose: SigningPurpose, at: string): PublishedKey {
    requireLaterChange(this.#published, purpose, at)
    const row = this.#db.transact(() => {
      this.#retireCurrent(purpose, at)
      return this.#insert(purpose, at)
    })
    this.#afterRetirement()
    return publishedOf(row)
  }

  retire(purpose: SigningPurpose, at: string): void {
    requireLaterChange(this.#published, purpose, at)
    this.#db.transact(() => this.#retireCurrent(purpose, at))
    this.#afterRetirement()
  }

  /** Inside the caller's transaction: every seed again, under `next`. */
  rewrap(next: MasterHolder): void {
    for (const { key_id, seed } of listSigningKeys(this.#db)) {
      if (seed) updateSeed(this.#db, key_id, rewrapSeed(key_id, seed, { from: this.#master, next }))
    }
  }

  #insert(purpose: SigningPurpose, at: string): SigningKeyRow {
    const row = newSigningKeyRow(this.#master, purpose, at)
    insertSigningKey(this.#db, row)
    return row
  }

  #retireCurrent(purpose: SigningPurpose, at: string): void {
    const current = this.#signers.get(purpose)
    if (current) updateRetired(this.#db, current.key_id, at)
  }

  #afterRetirement(): void {
    this.#reload()
    // The wrapped seed is still in the log until this; nothing breaks if a reader delays it.
    this.#db.truncateLog()
  }

  #reload(): void {
    const rows = listSigningKeys(this.#db)
    this.#published = rows.map(publishedOf)
    this.#retired = new Set(rows.flatMap((row) => (row.retired_at ? [row.key_id] : [])))
    this.#signers.clear()
    for (const row of rows) {
      if (row.seed && !row.retired_at) this.#signers.set(row.purpose, this.#signerOf(row, row.seed))
    }
  }

  #signerOf(row: SigningKeyRow, wrapped: Uint8Array): Signer {
    const key = openSigningKey(this.#master, row, wrapped)
    return {
      key_id: key.key_id,
      public_key: key.public_key,
      sign: (message) => this.#sign(key, message),
    }
  }

  // A signer may be held across a rotation; what it signed then would verify against nothing.
  #sign(key: SigningKey, message: Uint8Array): Buffer {
    if (this.#retired.has(key.key_id))
      throw new KeyringError('signing_key_retired', `signing key ${key.key_id} is retired`)
    return signWith(key, message)
  }
}
