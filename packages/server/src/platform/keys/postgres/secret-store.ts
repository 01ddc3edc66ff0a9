// Numbered secrets of a tenant: reserved in blocks, read in bulk, destroyed for every process.

import { randomFillSync } from 'node:crypto'
import type { SecretBlock } from '../keyring.ts'
import { KeyringError, requireInteger } from '../keyring-error.ts'
import { SLOT_BYTES } from '../slot-file.ts'
import type { MasterHolder } from '../wrap.ts'
import {
  deleteBlocks,
  findLastBlock,
  insertBlock,
  lastLedgerNumber,
  type Range,
} from './blocks.sql.ts'
import type { HeldSecrets } from './held-secrets.ts'
import { lockCounter, takeNumbers } from './instance.sql.ts'
import type { KeyringPg, PgQueries, PgTx } from './keyring-pg.ts'
import {
  deleteNextSecrets,
  deleteSecrets,
  insertDestroyed,
  insertSecrets,
  listAlive,
  listDestroyed,
  loadSecrets,
  type Numbered,
  type Owner,
  type Sealing,
} from './secrets.sql.ts'
import { destroyTenantKeys, lockTenant } from './tenants.sql.ts'
import { openWrapKey, shareWrapKey } from './wrap-keys.sql.ts'

const BLOCK_NUMBERS = 1024
const BLOCK_NUMBERS_MAX = 65_536
/** Of a destroyed tenant in one transaction: a third of a second. */
const REMOVED_AT_ONCE = 20_000

/** Destroys in the transaction of `SecretStore.destroying`. */
export type Destroy = (owner: Owner, numbers: readonly number[]) => Promise<void>

export interface SecretStorePlace {
  readonly db: KeyringPg
  readonly master: MasterHolder
  readonly held: HeldSecrets
  /** How many secrets any process had destroyed before this memory had any. */
  readonly seen: number
}

export class SecretStore {
  readonly #db: KeyringPg
  readonly #master: MasterHolder
  readonly #held: HeldSecrets
  // Changes with each destruction: what was read before it is not kept in memory after it.
  #destructions = 0
  /** The last destruction of any process that this memory knows of. */
  #seen: number

  constructor({ db, master, held, seen }: SecretStorePlace) {
    this.#db = db
    this.#master = master
    this.#held = held
    this.#seen = seen
  }

  async reserve(
    owner: Owner,
    { at_least, count = BLOCK_NUMBERS }: { at_least: number; count?: number },
  ): Promise<SecretBlock> {
    requireInteger('at_least', at_least, 0)
    requireInteger('count', count, 1)
    if (count > BLOCK_NUMBERS_MAX)
      throw new KeyringError('bad_argument', `count must be at most ${BLOCK_NUMBERS_MAX}`)
    const secrets = randomFillSync(Buffer.alloc(count * SLOT_BYTES))
    try {
      const range = await this.#db.transact(async (tx) => {
        await requireTenant(tx, owner)
        const first = await firstFree(tx, owner, { at_least, count })
        await insertBlock(tx, owner, { first, end: first + count })
        await this.#insert(tx, owner, numbered(first, secrets))
        return { first, end: first + count }
      })
      return this.#held.block(owner, range, secrets)
    } catch (error) {
      secrets.fill(0)
      throw error
    }
  }

  /** Whether it was not there: a secret is made once, by whichever process comes first. */
  async insertOnce(tx: PgTx, owner: Owner, one: Numbered): Promise<boolean> {
    return (await this.#insert(tx, owner, [one])) > 0
  }

  async read(owner: Owner, numbers: readonly number[]): Promise<Map<number, Buffer | null>> {
    const found = new Map<number, Buffer | null>()
    for (const number of numbers) found.set(number, this.#held.find(owner, number) ?? null)
    const asked = numbers.filter((number) => found.get(number) === null && isNumber(number))
    if (asked.length === 0) return found
    const before = this.#destructions
    for (const one of await this.readIn(this.#db, owner, asked)) {
      found.set(one.number, one.secret)
      if (before === this.#destructions) this.#held.keep(owner, one)
    }
    return found
  }

  /** Past the memory, in a transaction or not; those that are there. */
  async readIn(db: PgQueries, owner: Owner, numbers: readonly number[]): Promise<Numbered[]> {
    return loadSecrets(db, this.#master, owner, numbers)
  }

  /** Makes a number that another keyring of this instance had made. false: it is here already. */
  async install(tx: PgTx, owner: Owner, one: Numbered): Promise<boolean> {
    await requireTenant(tx, owner)
    const block = await findLastBlock(tx, owner, one.number)
    if (block && one.number < block.end) return false
    await insertBlock(tx, owner, { first: one.number, end: one.number + 1 })
    return this.insertOnce(tx, owner, one)
  }

  /** `numbers` that were never made are passed over. */
  async destroy(owner: Owner, numbers: readonly number[]): Promise<void> {
    await this.destroying((_tx, destroy) => destroy(owner, numbers))
  }

  /** A transaction; what it destroys is gone from this memory too when it resolves. */
  async destroying<T>(unit: (tx: PgTx, destroy: Destroy) => Promise<T>): Promise<T> {
    const named: { owner: Owner; numbers: readonly number[] }[] = []
    this.#destructions += 1
    try {
      return await this.#db.transact((tx) =>
        unit(tx, async (owner, all) => {
          const numbers = all.filter(isNumber)
          if (numbers.length === 0) return
          named.push({ owner, numbers })
          // First, so that the order of what is destroyed is the order of the commits.
          await lockCounter(tx, 'destroyed')
          const gone = await deleteSecrets(tx, owner, numbers)
          if (gone.length > 0) await insertDestroyed(tx, owner, gone)
        }),
      )
    } finally {
      // Also after a failure: a commit whose answer was lost may have happened.
      for (const { owner, numbers } of named) this.#held.wipe(owner, numbers)
      this.#destructions += 1
    }
  }

  /**
   * Everything the tenant has in the keyring but the row that says so. Its keys first, in a short
   * transaction: no other tenant's erasure waits for the many secrets that open no more.
   */
  async destroyTenant(tenant_id: string): Promise<void> {
    this.#destructions += 1
    try {
      await this.#db.transact((tx) => destroyTenantKeys(tx, tenant_id))
    } finally {
      this.#held.wipeTenant(tenant_id)
      this.#destructions += 1
    }
    await this.removeSecrets(tenant_id)
  }

  /** Of a tenant whose keys are destroyed. Cut off anywhere, the next start goes on with it. */
  async removeSecrets(tenant_id: string): Promise<void> {
    const next = (tx: PgTx) => deleteNextSecrets(tx, tenant_id, REMOVED_AT_ONCE)
    while (await this.#db.transact(next));
    await this.#db.transact(async (tx) => {
      await lockCounter(tx, 'destroyed')
      await deleteBlocks(tx, tenant_id)
      // A number without a row: whoever follows compares all that it holds.
      await takeNumbers(tx, 'destroyed', 1)
    })
    this.#held.wipeTenant(tenant_id)
  }

  /** Takes out of memory what other processes have destroyed. @param last the counter now */
  async follow(last: number): Promise<void> {
    if (last === this.#seen) return
    const rows = await listDestroyed(this.#db, this.#seen)
    const end = Math.max(rows.at(-1)?.seq ?? 0, last)
    // Anywhere: a number without a row may stand before, between and after those with one.
    if (rows.length === end - this.#seen)
      for (const { tenant_id, kind, number } of rows) this.#held.wipe({ tenant_id, kind }, [number])
    else await this.#compareAll()
    this.#seen = end
  }

  // The list no longer reaches back so far, or has a number without a row: a destroyed tenant.
  async #compareAll(): Promise<void> {
    this.#held.wipeRecent()
    for (const { owner, first, end } of this.#held.blocks()) {
      const alive = await listAlive(this.#db, owner, { first, end })
      for (let number = first; number < end; number += 1)
        if (!alive.has(number)) this.#held.wipe(owner, [number])
    }
  }

  async #insert(tx: PgTx, owner: Owner, secrets: readonly Numbered[]): Promise<number> {
    return insertSecrets(tx, owner, await this.#sealing(tx, owner), secrets)
  }

  async #sealing(tx: PgTx, { tenant_id }: Owner): Promise<Sealing> {
    const row = await shareWrapKey(tx, tenant_id)
    return { version: row.version, key: openWrapKey(this.#master, row) }
  }
}

async function requireTenant(tx: PgTx, { tenant_id }: Owner): Promise<void> {
  if (!(await lockTenant(tx, tenant_id)))
    throw new KeyringError('tenant_key_missing', `no key for tenant ${tenant_id}`)
}

// A number the ledger names is never made again: the ledger would destroy the new secret at
// the next start. That only happens to a keyring restored from before those numbers.
async function firstFree(
  tx: PgTx,
  owner: Owner,
  { at_least, count }: { at_least: number; count: number },
): Promise<number> {
  const last: Range | undefined = await findLastBlock(tx, owner, Number.MAX_SAFE_INTEGER)
  let first = Math.max(last?.end ?? 1, at_least, 1)
  for (;;) {
    const end = first + count
    requireInteger('the end of the block', end, 1)
    const taken = await lastLedgerNumber(tx, owner, { first, end })
    if (taken === undefined) return first
    first = taken + 1
  }
}

function numbered(first: number, secrets: Buffer): Numbered[] {
  return Array.from({ length: secrets.length / SLOT_BYTES }, (_, index) => ({
    number: first + index,
    secret: secrets.subarray(index * SLOT_BYTES, (index + 1) * SLOT_BYTES),
  }))
}

function isNumber(number: number): boolean {
  return Number.isSafeInteger(number) && number >= 0
}
