// The instance's signing keys, in memory so that signing waits for nothing.

import { formatTime, parseTime } from '../../clock.ts'
import type { Signer, SigningPurpose } from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'
import type { PublishedKey } from '../published-key.ts'
import { type SigningKey, signWith } from '../signer.ts'
import {
  newSigningKeyRow,
  openSigningKey,
  publishedOf,
  requireLaterChange,
  rewrapSeed,
  SIGNING_PURPOSES,
} from '../signing-key-rows.ts'
import type { SigningKeyRow } from '../signing-keys.sql.ts'
import type { MasterHolder } from '../wrap.ts'
import { lockInstance } from './instance.sql.ts'
import type { KeyringPg, PgTx } from './keyring-pg.ts'
import { insertSigningKey, listSigningKeys, updateRetired, updateSeed } from './signing-keys.sql.ts'

/** Longer without a look at the keys of other processes, and nothing is signed. */
const UNSEEN_MS_MAX = 5_000

/**
 * A key's time begins so much before and ends so much after the change: until they have seen it,
 * other processes sign with the old key, and their clocks may be behind. It outlasts a look that
 * gets no answer, UNSEEN_MS_MAX after that, and the wait for a lock by whoever makes the change.
 */
const LEEWAY_US = 60_000_000

export class SigningKeys {
  readonly #db: KeyringPg
  readonly #master: MasterHolder
  readonly #now_ms: () => number
  readonly #signers = new Map<string, Signer>()
  #published: readonly PublishedKey[] = []
  #retired: ReadonlySet<string> = new Set()
  /** Since when every look has failed. */
  #unseen_since_ms: number | undefined

  constructor(db: KeyringPg, master: MasterHolder, now_ms: () => number) {
    this.#db = db
    this.#master = master
    this.#now_ms = now_ms
  }

  /** Purposes that never had a key get one; one retired without successor stays without. */
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
    this.#requireSeen()
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

  /** Every seed again, under `next`. */
  async rewrap(tx: PgTx, next: MasterHolder): Promise<void> {
    for (const { key_id, seed } of await listSigningKeys(tx))
      if (seed) await updateSeed(tx, key_id, rewrapSeed(key_id, seed, { from: this.#master, next }))
  }

  /** What any process has changed since. @param changes keys made plus keys retired, so far */
  async follow(changes: number): Promise<void> {
    if (changes > this.#changes()) await this.reload()
    this.#unseen_since_ms = undefined
  }

  /** A look has failed: a key that another process retires is not to sign for long. */
  lost(): void {
    this.#unseen_since_ms ??= this.#now_ms()
  }

  async reload(): Promise<void> {
    const rows = await listSigningKeys(this.#db)
    // Looks may overtake each other, and keys are only ever added and retired.
    if (changesOf(rows) >= this.#changes()) this.#take(rows)
  }

  #take(rows: readonly SigningKeyRow[]): void {
    this.#published = rows.map(publishedOf)
    this.#retired = new Set(rows.flatMap((row) => (row.retired_at ? [row.key_id] : [])))
    this.#signers.clear()
    for (const row of rows)
      if (row.seed && !row.retired_at) this.#signers.set(row.purpose, this.#signerOf(row, row.seed))
  }

  async #retireAnd<T>(
    purpose: SigningPurpose,
    at: string,
    then: (tx: PgTx) => Promise<T>,
  ): Promise<T> {
    const result = await this.#db.transact(async (tx) => {
      await lockInstance(tx, this.#master)
      requireLaterChange(lastChange(await listSigningKeys(tx), purpose), purpose, at)
      await updateRetired(tx, purpose, shifted(at, LEEWAY_US))
      return then(tx)
    })
    await this.reload()
    return result
  }

  async #insert(tx: PgTx, purpose: SigningPurpose, at: string): Promise<SigningKeyRow> {
    const row = newSigningKeyRow(this.#master, purpose, shifted(at, -LEEWAY_US))
    await insertSigningKey(tx, row)
    return row
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
    this.#requireSeen()
    if (this.#retired.has(key.key_id))
      throw new KeyringError('signing_key_retired', `signing key ${key.key_id} is retired`)
    return signWith(key, message)
  }

  #requireSeen(): void {
    const since = this.#unseen_since_ms
    if (since === undefined || this.#now_ms() - since < UNSEEN_MS_MAX) return
    throw new KeyringError('keyring_unavailable', 'the keyring cannot be asked whose keys are good')
  }

  #changes(): number {
    return changesOf(this.#published)
  }
}

/** Refused as `bad_argument` by requireLaterChange unless it is a full time. */
function shifted(at: string, by_us: number): string {
  const at_us = parseTime(at)
  return at_us === null ? at : formatTime(at_us + by_us)
}

/** The purpose's last key, as of when it was last changed: without the leeway. */
function lastChange(rows: readonly SigningKeyRow[], purpose: SigningPurpose): PublishedKey[] {
  const own = rows.filter((row) => row.purpose === purpose)
  const [last, retired] = [own.at(-1), own.findLast((row) => row.retired_at !== null)]
  if (last === undefined) return []
  const changed_at = retired?.retired_at && shifted(retired.retired_at, -LEEWAY_US)
  return [{ ...publishedOf(last), valid_from: changed_at || last.valid_from, retired_at: null }]
}

function changesOf(keys: readonly { readonly retired_at: string | null }[]): number {
  return keys.length + keys.filter((key) => key.retired_at !== null).length
}

function missingIn(published: readonly PublishedKey[]): SigningPurpose[] {
  return SIGNING_PURPOSES.filter((purpose) => !published.some((key) => key.purpose === purpose))
}
