// Secrets of a keyring on PostgreSQL: sealed rows, destroyed for every process that uses it.

import { randomFillSync } from 'node:crypto'
import {
  chooseBlock,
  deleteBlocks,
  insertBlock,
  isReserved,
  type ReserveOptions,
  requireLiveTenant,
  reserveCount,
} from '../core/blocks.sql.ts'
import { lockCounter, takeNumbers } from '../core/counters.sql.ts'
import type { KeyringTx } from '../core/database.ts'
import { DAYS } from '../core/day-keys.ts'
import type { SecretOwner, SecretStore, SecretTx } from '../core/secret-store.ts'
import type { LedgerSecretRow, RenewalRow } from '../core/tables.ts'
import type { SecretBlock, SecretKind } from '../keyring.ts'
import { type NumberedSecret, SECRET_BYTES, secretIn } from '../secret-bytes.ts'
import type { MasterHolder } from '../wrap.ts'
import type { HeldSecrets } from './held-secrets.ts'
import type { KeyringPg, PgTx } from './keyring-pg.ts'
import {
  deleteNextSecrets,
  deleteSecrets,
  destroyTenantKeys,
  hasRemains,
  insertDestroyed,
  insertSecrets,
  listAlive,
  listDestroyed,
  listHalfRemoved,
  listNumbersBefore,
  listUndestroyed,
  listUndestroyedSecrets,
  listUnfinishedRenewals,
  loadSecrets,
  type SealingKey,
} from './secrets.sql.ts'
import {
  insertWrapKey,
  newWrapKey,
  openWrapKey,
  rewrapKeys,
  shareWrapKey,
} from './wrap-keys.sql.ts'

/** Secrets of a destroyed tenant that one transaction deletes: a third of a second. */
const REMOVED_AT_ONCE = 20_000

interface SecretRowsOptions {
  readonly db: KeyringPg
  readonly master: MasterHolder
  readonly held: HeldSecrets
  /** The counter `destroyed` at a time when `held` was still empty. */
  readonly destroyed: number
}

export class SecretRows implements SecretStore {
  readonly #db: KeyringPg
  readonly #master: MasterHolder
  readonly #held: HeldSecrets
  // Changes with each destruction, so that a secret read before it is not cached after it.
  #generation = 0
  /** The value of the counter `destroyed` that this memory has followed. */
  #followed: number

  constructor({ db, master, held, destroyed }: SecretRowsOptions) {
    this.#db = db
    this.#master = master
    this.#held = held
    this.#followed = destroyed
  }

  async transact<T>(unit: (tx: KeyringTx, secrets: SecretTx) => Promise<T>): Promise<T> {
    const destroyed: { owner: SecretOwner; numbers: readonly number[] }[] = []
    this.#generation += 1
    try {
      return await this.#db.transact((tx) => {
        const destroy = async (owner: SecretOwner, all: readonly number[]) => {
          const numbers = all.filter(isNumber)
          if (numbers.length === 0) return
          destroyed.push({ owner, numbers })
          await destroyRows(tx, owner, numbers)
        }
        return unit(tx, this.#secretTx(tx, destroy))
      })
    } finally {
      // Wipes after a failure too, because a commit whose reply was lost may have happened.
      for (const { owner, numbers } of destroyed) this.#held.wipe(owner, numbers)
      this.#generation += 1
    }
  }

  async reserve(
    tenant_id: string,
    kind: SecretKind,
    options: ReserveOptions,
  ): Promise<SecretBlock> {
    const owner = { tenant_id, kind }
    const count = reserveCount(options)
    const secrets = randomFillSync(Buffer.alloc(count * SECRET_BYTES))
    try {
      const first = await this.#db.transact(async (tx) => {
        const first = await chooseBlock(tx, owner, { at_least: options.at_least, count })
        await insertBlock(tx, owner, { first, count })
        await this.#insert(tx, owner, numbered(first, secrets))
        return first
      })
      return this.#held.block(owner, first, secrets)
    } catch (error) {
      secrets.fill(0)
      throw error
    }
  }

  async read(
    tenant_id: string,
    kind: SecretKind,
    numbers: readonly number[],
  ): Promise<Map<number, Buffer | null>> {
    const owner = { tenant_id, kind }
    const found = new Map<number, Buffer | null>()
    for (const number of numbers) found.set(number, this.#held.find(owner, number) ?? null)
    const unknown = numbers.filter((number) => found.get(number) === null && isNumber(number))
    if (unknown.length === 0) return found
    const generation = this.#generation
    for (const one of await this.load(owner, unknown)) {
      found.set(one.number, one.secret)
      if (generation === this.#generation) this.#held.keep(owner, one)
    }
    return found
  }

  load(owner: SecretOwner, numbers: readonly number[]): Promise<NumberedSecret[]> {
    return loadSecrets(this.#db, this.#master, owner, numbers)
  }

  async destroy(owner: SecretOwner, numbers: readonly number[]): Promise<void> {
    await this.transact((_tx, secrets) => secrets.destroy(owner, numbers))
  }

  /**
   * Deletes everything of the tenant but its row. Its keys go first, in a short transaction, so
   * that erasures of other tenants need not wait for the many secrets, which nothing opens by then.
   */
  async destroyTenant(tenant_id: string): Promise<void> {
    this.#generation += 1
    try {
      await this.#db.transact((tx) => destroyTenantKeys(tx, tenant_id))
    } finally {
      this.#held.wipeTenant(tenant_id)
      this.#generation += 1
    }
    await this.#removeSecrets(tenant_id)
  }

  hasRemains(tenant_id: string): Promise<boolean> {
    return hasRemains(this.#db, tenant_id)
  }

  async finishRemovals(): Promise<void> {
    for (const tenant_id of await listHalfRemoved(this.#db)) await this.#removeSecrets(tenant_id)
  }

  listUndestroyed(): Promise<string[]> {
    return listUndestroyed(this.#db)
  }

  listUndestroyedSecrets(): Promise<LedgerSecretRow[]> {
    return listUndestroyedSecrets(this.#db)
  }

  listUnfinishedRenewals(): Promise<RenewalRow[]> {
    return listUnfinishedRenewals(this.#db)
  }

  /** Wipes from memory what other processes have destroyed. @param last the counter now */
  async follow(last: number): Promise<void> {
    if (last === this.#followed) return
    const rows = await listDestroyed(this.#db, this.#followed)
    const end = Math.max(rows.at(-1)?.seq ?? 0, last)
    // Numbers without a row may come before, between and after those with one.
    if (rows.length === end - this.#followed)
      for (const { tenant_id, kind, number } of rows) this.#held.wipe({ tenant_id, kind }, [number])
    else await this.#compareAll()
    this.#followed = end
  }

  // The list no longer reaches back far enough, or lacks a number because a tenant was destroyed.
  async #compareAll(): Promise<void> {
    this.#held.wipeRecent()
    for (const { owner, first, end } of this.#held.blocks()) {
      const alive = await listAlive(this.#db, owner, { first, end })
      for (let number = first; number < end; number += 1)
        if (!alive.has(number)) this.#held.wipe(owner, [number])
    }
  }

  /** Removes the secrets of a destroyed tenant. After a stop, the next start continues it. */
  async #removeSecrets(tenant_id: string): Promise<void> {
    const next = (tx: PgTx) => deleteNextSecrets(tx, tenant_id, REMOVED_AT_ONCE)
    while (await this.#db.transact(next));
    await this.#db.transact(async (tx) => {
      await lockCounter(tx, 'destroyed')
      await deleteBlocks(tx, tenant_id)
      // Takes a number without a row, so that processes that follow compare all that they hold.
      await takeNumbers(tx, 'destroyed', 1)
    })
    this.#held.wipeTenant(tenant_id)
  }

  #secretTx(tx: PgTx, destroy: SecretTx['destroy']): SecretTx {
    return {
      destroy,
      load: (owner, numbers) => loadSecrets(tx, this.#master, owner, numbers),
      insert: (owner, secret) => this.#insert(tx, owner, [secret]),
      install: (tenant_id, secret) => this.#install(tx, tenant_id, secret),
      listDaysBefore: (day) => listNumbersBefore(tx, DAYS, day),
      addTenant: (tenant_id) => insertWrapKey(tx, newWrapKey(this.#master, tenant_id, 1)),
      rewrap: (rotation) => rewrapKeys(tx, rotation),
      listUnfinishedRenewals: () => listUnfinishedRenewals(tx),
    }
  }

  async #install(tx: PgTx, tenant_id: string, secret: NumberedSecret): Promise<boolean> {
    const { number } = secret
    const owner = { tenant_id, kind: 'decision' } as const
    await requireLiveTenant(tx, tenant_id)
    if (await isReserved(tx, owner, number)) return false
    await insertBlock(tx, owner, { first: number, count: 1 })
    return this.#insert(tx, owner, [secret])
  }

  /** Returns whether any was new: if processes race, the secret of the first one is kept. */
  async #insert(
    tx: PgTx,
    owner: SecretOwner,
    secrets: readonly NumberedSecret[],
  ): Promise<boolean> {
    const row = await shareWrapKey(tx, owner.tenant_id)
    const sealing: SealingKey = { version: row.version, key: openWrapKey(this.#master, row) }
    return (await insertSecrets(tx, owner, sealing, secrets)) > 0
  }
}

async function destroyRows(
  tx: PgTx,
  owner: SecretOwner,
  numbers: readonly number[],
): Promise<void> {
  // First, so that destroyed secrets are numbered in the order of the commits.
  await lockCounter(tx, 'destroyed')
  const deleted = await deleteSecrets(tx, owner, numbers)
  if (deleted.length > 0) await insertDestroyed(tx, owner, deleted)
}

function numbered(first: number, secrets: Buffer): NumberedSecret[] {
  return Array.from({ length: secrets.length / SECRET_BYTES }, (_, index) => ({
    number: first + index,
    secret: secretIn(secrets, index),
  }))
}

function isNumber(number: number): boolean {
  return Number.isSafeInteger(number) && number >= 0
}
