// The instance's signing keys: one current key per purpose, kept in memory.

import { formatTime, parseTime } from '../../clock.ts'
import {
  type PublishedKey,
  SIGNING_PURPOSES,
  type Signer,
  type SigningPurpose,
} from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'
import { type SigningKey, signInPool, signWith } from '../signer.ts'
import type { MasterHolder, MasterRotation } from '../wrap.ts'
import type { KeyringDb, KeyringTx } from './database.ts'
import { lockInstance } from './instance.sql.ts'
import {
  newSigningKeyRow,
  openSigningKey,
  publishedOf,
  requireLaterChange,
  rewrapSeed,
} from './signing-key-rows.ts'
import {
  insertSigningKey,
  listSigningKeys,
  type SigningKeyRow,
  updateRetired,
  updateSeed,
} from './signing-keys.sql.ts'

/** Signing stops this long after the last successful check for changes by other processes. */
const UNCHECKED_MS_MAX = 5_000

/**
 * In a shared keyring, a key's validity extends this far before and after a change: other processes
 * sign with the old key until they see the change, and their clocks may be behind. It exceeds the
 * sum of a check that gets no answer, UNCHECKED_MS_MAX after it, and the wait for a lock by the
 * process that makes the change.
 */
const SHARED_LEEWAY_US = 60_000_000

export class SigningKeys {
  readonly #db: KeyringDb
  readonly #master: MasterHolder
  readonly #now_ms: () => number
  readonly #leeway_us: number
  readonly #signers = new Map<string, Signer>()
  #published: readonly PublishedKey[] = []
  #retired: ReadonlySet<string> = new Set()
  /** Number of changes that this process has loaded. */
  #followed: number | undefined
  /** Time of the first failed check since the last successful one. */
  #unchecked_since_ms: number | undefined

  /** `now_ms`: a clock that only goes forward. */
  constructor({
    db,
    master,
    now_ms,
  }: { db: KeyringDb; master: MasterHolder; now_ms: () => number }) {
    this.#db = db
    this.#master = master
    this.#now_ms = now_ms
    this.#leeway_us = db.shared ? SHARED_LEEWAY_US : 0
  }

  /** Creates a key for each purpose that never had one; a retired purpose stays without a key. */
  async createMissing(at: string): Promise<void> {
    await this.reload()
    if (missingIn(this.#published).length === 0) return
    await this.#db.transact(async (tx) => {
      await lockInstance(tx, this.#master)
      for (const purpose of missingIn((await listSigningKeys(tx)).map(publishedOf)))
        await this.#insert(tx, purpose, at)
    })
    await this.reload()
  }

  signer(purpose: SigningPurpose): Signer {
    this.#requireChecked()
    const signer = this.#signers.get(purpose)
    if (signer) return signer
    throw new KeyringError('no_signing_key', `no current signing key for ${purpose}`)
  }

  published(): PublishedKey[] {
    return this.#published.map((key) => ({ ...key }))
  }

  async rotate(purpose: SigningPurpose, at: string): Promise<PublishedKey> {
    const row = await this.#retireAnd(purpose, at, (tx) => this.#insert(tx, purpose, at))
    return publishedOf(row)
  }

  async retire(purpose: SigningPurpose, at: string): Promise<void> {
    await this.#retireAnd(purpose, at, async () => undefined)
  }

  /** Wraps every seed under the next master key. */
  async rewrap(tx: KeyringTx, rotation: MasterRotation): Promise<void> {
    for (const { key_id, seed } of await listSigningKeys(tx))
      if (seed) await updateSeed(tx, key_id, rewrapSeed(key_id, seed, rotation))
  }

  /** Loads changes made by other processes. @param changes the total number of changes */
  async follow(changes: number): Promise<void> {
    if (changes !== this.#followed) await this.reload()
    this.#followed = changes
    this.#unchecked_since_ms = undefined
  }

  /** Records a failed check: a key that another process has retired must soon stop signing. */
  checkFailed(): void {
    this.#unchecked_since_ms ??= this.#now_ms()
  }

  async reload(): Promise<void> {
    const rows = await listSigningKeys(this.#db)
    // An older read may arrive later. Keys are only added and retired, so more changes are newer.
    if (changesOf(rows) < changesOf(this.#published)) return
    this.#published = rows.map(publishedOf)
    this.#retired = new Set(rows.flatMap((row) => (row.retired_at ? [row.key_id] : [])))
    this.#signers.clear()
    for (const row of rows)
      if (row.seed && !row.retired_at) this.#signers.set(row.purpose, this.#signerOf(row, row.seed))
  }

  async #retireAnd<T>(
    purpose: SigningPurpose,
    at: string,
    then: (tx: KeyringTx) => Promise<T>,
  ): Promise<T> {
    const result = await this.#db.transact(async (tx) => {
      await lockInstance(tx, this.#master)
      const own = (await listSigningKeys(tx)).filter((row) => row.purpose === purpose)
      requireLaterChange(purpose, at, this.#lastChange(own))
      await updateRetired(tx, purpose, shifted(at, this.#leeway_us))
      return then(tx)
    })
    await this.reload()
    // SQLite's log has the wrapped seed until it is truncated; a reader may delay that harmlessly.
    await this.#db.truncateLog()
    return result
  }

  /** When the key of the purpose last changed, without the leeway; '' before the first key. */
  #lastChange(own: readonly SigningKeyRow[]): string {
    const retired_at = own.findLast((row) => row.retired_at !== null)?.retired_at
    const changed_at = retired_at ? shifted(retired_at, -this.#leeway_us) : ''
    const valid_from = own.at(-1)?.valid_from ?? ''
    return changed_at > valid_from ? changed_at : valid_from
  }

  async #insert(tx: KeyringTx, purpose: SigningPurpose, at: string): Promise<SigningKeyRow> {
    const row = newSigningKeyRow(this.#master, purpose, shifted(at, -this.#leeway_us))
    await insertSigningKey(tx, row)
    return row
  }

  #signerOf(row: SigningKeyRow, wrapped: Uint8Array): Signer {
    const key = openSigningKey(this.#master, row, wrapped)
    return {
      key_id: key.key_id,
      public_key: key.public_key,
      sign: (message) => {
        this.#requireCurrent(key)
        return signWith(key, message)
      },
      signAll: async (messages) => {
        this.#requireCurrent(key)
        return Promise.all(messages.map((message) => signInPool(key, message)))
      },
    }
  }

  // A signer may be kept across a rotation; its signatures would then not verify under any key.
  #requireCurrent(key: SigningKey): void {
    this.#requireChecked()
    if (this.#retired.has(key.key_id))
      throw new KeyringError('signing_key_retired', `signing key ${key.key_id} is retired`)
  }

  #requireChecked(): void {
    const since = this.#unchecked_since_ms
    if (since === undefined || this.#now_ms() - since < UNCHECKED_MS_MAX) return
    throw new KeyringError(
      'keyring_unavailable',
      'the keyring cannot say which signing keys are current',
    )
  }
}

/** Returns a text that is not a full time unchanged, for `requireLaterChange` to refuse. */
function shifted(at: string, by_us: number): string {
  const at_us = parseTime(at)
  return at_us === null ? at : formatTime(at_us + by_us)
}

function changesOf(keys: readonly { readonly retired_at: string | null }[]): number {
  return keys.length + keys.filter((key) => key.retired_at !== null).length
}

function missingIn(published: readonly PublishedKey[]): SigningPurpose[] {
  return SIGNING_PURPOSES.filter((purpose) => !published.some((key) => key.purpose === purpose))
}
