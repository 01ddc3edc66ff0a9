// Secrets of the embedded keyring: slots of a file, each destroyed by overwriting it in place.

import { randomFillSync } from 'node:crypto'
import {
  type BlockOwner,
  chooseBlock,
  deleteBlocks,
  insertBlock,
  type ReserveOptions,
  reserveCount,
} from '../core/blocks.sql.ts'
import type { KeyringQueries, KeyringTx } from '../core/database.ts'
import type { SecretOwner, SecretStore, SecretTx } from '../core/secret-store.ts'
import type { LedgerSecretRow, RenewalRow } from '../core/tables.ts'
import { destroyedRow, isDestroyed } from '../core/tenant-rows.ts'
import { findTenant, listDestroyedWithBlocks, upsertTenants } from '../core/tenants.sql.ts'
import type { SecretBlock, SecretKind } from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'
import { listLedgerSecrets, listLedgerTenants } from '../ledger/ledger.sql.ts'
import { selectClaimedRenewals } from '../ledger/parts.sql.ts'
import {
  copySecret,
  isErased,
  type NumberedSecret,
  runsOf,
  SECRET_BYTES,
  secretIn,
} from '../secret-bytes.ts'
import type { SlotFile } from './slot-file.ts'
import {
  deleteDays,
  hasBlocks,
  insertDay,
  listBlocks,
  listDaySlots,
  listDaysBefore,
  type SlotBlock,
  takeSlots,
} from './slots.sql.ts'
import type { SqliteDb } from './sqlite-db.ts'

const KINDS: readonly SecretKind[] = ['fact', 'decision']
/** Slots at most this far apart share one read: 4 kB more cost less than a second call. */
const READ_GAP_SLOTS = 128
const RUN_SLOTS_MAX = 32_768

export class SlotStore implements SecretStore {
  readonly #db: SqliteDb
  readonly #slots: SlotFile
  readonly #memory = new BlockMemory()
  readonly #index: BlockIndex

  constructor(db: SqliteDb, slots: SlotFile) {
    this.#db = db
    this.#slots = slots
    this.#index = new BlockIndex(db)
  }

  transact<T>(unit: (tx: KeyringTx, secrets: SecretTx) => Promise<T>): Promise<T> {
    return this.#db.transact((tx) => unit(tx, this.#secretTx(tx)))
  }

  async reserve(
    tenant_id: string,
    kind: SecretKind,
    options: ReserveOptions,
  ): Promise<SecretBlock> {
    const owner = { tenant_id, kind }
    const count = reserveCount(options)
    const secrets = randomFillSync(Buffer.alloc(count * SECRET_BYTES))
    // Secrets are flushed before the row that names them. A crash in between leaves slots that no
    // row names, and the next reservation overwrites them.
    const block = await this.#db.transact(async (tx) => {
      const first = await chooseBlock(tx, owner, { at_least: options.at_least, count })
      const slot = await takeSlots(tx, count)
      this.#slots.write(slot, secrets)
      await insertBlock(tx, owner, { first, count, slot })
      return { first, count, slot }
    })
    this.#memory.add(keyOf(owner), block.first, secrets)
    return { first: block.first, count, secretAt: (number) => this.#secretAt(owner, block, number) }
  }

  async read(
    tenant_id: string,
    kind: SecretKind,
    numbers: readonly number[],
  ): Promise<Map<number, Buffer | null>> {
    const owner = { tenant_id, kind }
    const found = new Map<number, Buffer | null>()
    const unknown: number[] = []
    for (const number of numbers) {
      const held = this.#memory.find(keyOf(owner), number)
      found.set(number, held && !isErased(held) ? copySecret(held) : null)
      if (!held) unknown.push(number)
    }
    if (unknown.length === 0) return found
    const slots = await this.#index.locate(owner, unknown)
    for (const { number, secret } of this.#readSlots(slots)) found.set(number, secret)
    return found
  }

  async load(owner: SecretOwner, numbers: readonly number[]): Promise<NumberedSecret[]> {
    return this.#readSlots(await locate(this.#db, this.#index, { owner, numbers }))
  }

  async destroy(owner: SecretOwner, numbers: readonly number[]): Promise<void> {
    this.#erase(owner, await locate(this.#db, this.#index, { owner, numbers }), numbers)
  }

  /** Empties the row first, so that no secret is created. Truncates SQLite's log at the end. */
  async destroyTenant(tenant_id: string): Promise<void> {
    await this.#db.transact((tx) => upsertTenants(tx, [destroyedRow(tenant_id)]))
    await this.#removeSecrets(tenant_id)
  }

  async hasRemains(tenant_id: string): Promise<boolean> {
    const row = await findTenant(this.#db, tenant_id)
    return (row !== undefined && !isDestroyed(row)) || hasBlocks(this.#db, tenant_id)
  }

  async finishRemovals(): Promise<void> {
    for (const tenant_id of await listDestroyedWithBlocks(this.#db))
      await this.#removeSecrets(tenant_id)
  }

  async listUndestroyed(): Promise<string[]> {
    const undestroyed: string[] = []
    for (const tenant_id of await listLedgerTenants(this.#db)) {
      const row = await findTenant(this.#db, tenant_id)
      if (!row || (await this.hasRemains(tenant_id))) undestroyed.push(tenant_id)
    }
    return undestroyed
  }

  async listUndestroyedSecrets(): Promise<LedgerSecretRow[]> {
    const named = await listLedgerSecrets(this.#db)
    const groups = Map.groupBy(named, keyOf)
    const undestroyed: LedgerSecretRow[] = []
    for (const group of groups.values()) {
      const [first] = group
      if (!first) continue
      const alive = await this.#listAlive(first, group)
      undestroyed.push(...group.filter(({ number }) => alive.has(number)))
    }
    return undestroyed
  }

  listUnfinishedRenewals(): Promise<RenewalRow[]> {
    return listUnfinished(this.#db, (owner, numbers) => this.load(owner, numbers))
  }

  wipeMemory(): void {
    this.#memory.wipeAll()
  }

  async #listAlive(owner: BlockOwner, rows: readonly { number: number }[]): Promise<Set<number>> {
    const { tenant_id, kind } = owner
    const secrets = await this.load(
      { tenant_id, kind },
      rows.map(({ number }) => number),
    )
    for (const { secret } of secrets) secret.fill(0)
    return new Set(secrets.map(({ number }) => number))
  }

  #secretTx(tx: KeyringTx): SecretTx {
    // Must not use the store's own index, which would keep the blocks of a failed transaction.
    const index = new BlockIndex(tx)
    const load = async (owner: SecretOwner, numbers: readonly number[]) =>
      this.#readSlots(await locate(tx, index, { owner, numbers }))
    return {
      load,
      insert: (owner, secret) => this.#insertDay(tx, owner, secret),
      install: async (tenant_id, { number, secret }) => {
        const owner = { tenant_id, kind: 'decision' } as const
        if ((await index.locate(owner, [number])).size > 0) return false
        const slot = await takeSlots(tx, 1)
        this.#slots.write(slot, secret)
        await insertBlock(tx, owner, { first: number, count: 1, slot })
        for (const known of [index, this.#index]) known.forget(owner)
        return true
      },
      destroy: async (owner, numbers) => {
        this.#erase(owner, await locate(tx, index, { owner, numbers }), numbers)
        if (owner.kind === 'day') await deleteDays(tx, numbers)
      },
      listDaysBefore: async (day) => (await listDaysBefore(tx, day)).map((row) => row.day),
      // Slots are not sealed, so there is no key to create or rewrap.
      addTenant: async () => undefined,
      rewrap: async () => undefined,
      listUnfinishedRenewals: () => listUnfinished(tx, load),
    }
  }

  async #insertDay(
    tx: KeyringTx,
    { kind }: SecretOwner,
    { number: day, secret }: NumberedSecret,
  ): Promise<boolean> {
    if (kind !== 'day') throw new Error('numbers of a tenant are reserved or installed')
    if ((await listDaySlots(tx, [day])).length > 0) return false
    const slot = await takeSlots(tx, 1)
    this.#slots.write(slot, secret)
    await insertDay(tx, { day, slot })
    return true
  }

  #secretAt(owner: BlockOwner, block: SlotBlock, number: number): Buffer {
    if (!Number.isInteger(number) || number < block.first || number >= block.first + block.count)
      throw new KeyringError('bad_argument', `number ${number} is not of this block`)
    const slot = block.slot + number - block.first
    const held = this.#memory.find(keyOf(owner), number)
    const secret = held ? copySecret(held) : this.#slots.read({ start: slot, end: slot + 1 })
    if (isErased(secret))
      throw new KeyringError('secret_destroyed', `the secret of ${owner.kind} ${number} is gone`)
    return secret
  }

  /** @param located slots by number */
  #readSlots(located: ReadonlyMap<number, number>): NumberedSecret[] {
    const bySlot = [...located].map(([number, slot]) => ({ number, slot }))
    bySlot.sort((a, b) => a.slot - b.slot)
    const slots = bySlot.map(({ slot }) => slot)
    const secrets: NumberedSecret[] = []
    let next = 0
    for (const run of runsOf(slots, READ_GAP_SLOTS, RUN_SLOTS_MAX)) {
      const bytes = this.#slots.read(run)
      for (let at = bySlot[next]; at !== undefined && at.slot < run.end; at = bySlot[++next]) {
        const secret = secretIn(bytes, at.slot - run.start)
        if (!isErased(secret)) secrets.push({ number: at.number, secret: copySecret(secret) })
      }
      bytes.fill(0)
    }
    return secrets
  }

  #erase(
    { tenant_id, kind }: SecretOwner,
    located: ReadonlyMap<number, number>,
    numbers: readonly number[],
  ): void {
    this.#slots.erase(runsOf([...located.values()], 0, RUN_SLOTS_MAX))
    if (kind === 'day') return
    for (const number of numbers) this.#memory.wipe(keyOf({ tenant_id, kind }), number)
  }

  /** Rereads each slot before it deletes the rows that name the slots. */
  async #removeSecrets(tenant_id: string): Promise<void> {
    for (const kind of KINDS) {
      const owner = { tenant_id, kind }
      this.#memory.wipeOwner(keyOf(owner))
      this.#index.forget(owner)
      for (const block of await listBlocks(this.#db, owner, 0)) this.#eraseBlock(block)
    }
    await this.#db.transact((tx) => deleteBlocks(tx, tenant_id))
    await this.#db.truncateLog()
  }

  #eraseBlock({ slot, count }: SlotBlock): void {
    for (let start = slot; start < slot + count; start += RUN_SLOTS_MAX) {
      const run = { start, end: Math.min(start + RUN_SLOTS_MAX, slot + count) }
      this.#slots.erase([run])
      if (this.#slots.read(run).some((byte) => byte !== 0))
        throw new KeyringError('keyring_damaged', 'overwritten secrets are still in the file')
    }
  }
}

const keyOf = ({ tenant_id, kind }: BlockOwner): string => `${kind}\n${tenant_id}`

/** Maps numbers to their slots. */
async function locate(
  db: KeyringQueries,
  index: BlockIndex,
  { owner, numbers }: { owner: SecretOwner; numbers: readonly number[] },
): Promise<Map<number, number>> {
  const { tenant_id, kind } = owner
  if (kind !== 'day') return index.locate({ tenant_id, kind }, numbers)
  return new Map((await listDaySlots(db, numbers)).map(({ day, slot }) => [day, slot]))
}

async function listUnfinished(db: KeyringQueries, load: SecretTx['load']): Promise<RenewalRow[]> {
  const claimed = await db.all(selectClaimedRenewals(db))
  const unfinished: RenewalRow[] = []
  for (const [tenant_id, rows] of Map.groupBy(claimed, (row) => row.tenant_id)) {
    const olds = await load(
      { tenant_id, kind: 'decision' },
      rows.map(({ number }) => number),
    )
    for (const { secret } of olds) secret.fill(0)
    const alive = new Set(olds.map(({ number }) => number))
    unfinished.push(...rows.filter(({ number }) => alive.has(number)))
  }
  return unfinished
}

/** Blocks in memory per tenant and kind: the one in use and those just before it. */
const BLOCKS_PER_OWNER_MAX = 4
/** Each number takes 32 bytes, so that 256 blocks of 1,024 take 8 MiB. */
const BYTES_MAX = 8 * 1024 * 1024

interface MemoryBlock {
  readonly first: number
  /** A Buffer is not moved by the garbage collector, so wiping it wipes the only copy. */
  readonly secrets: Buffer
}

class BlockMemory {
  // In the order of the last reservation: blocks of the first entry are evicted first.
  readonly #owners = new Map<string, MemoryBlock[]>()
  #bytes = 0

  add(owner: string, first: number, secrets: Buffer): void {
    const blocks = this.#owners.get(owner) ?? []
    this.#owners.delete(owner)
    this.#owners.set(owner, blocks)
    blocks.push({ first, secrets })
    this.#bytes += secrets.length
    if (blocks.length > BLOCKS_PER_OWNER_MAX) this.#drop(blocks)
    while (this.#bytes > BYTES_MAX && this.#owners.size > 1) this.#dropFromOldest()
  }

  /** A view of the 32 bytes, which are zeros if destroyed; undefined if not in memory. */
  find(owner: string, number: number): Buffer | undefined {
    if (!Number.isInteger(number)) return undefined
    for (const { first, secrets } of this.#owners.get(owner) ?? []) {
      const at = (number - first) * SECRET_BYTES
      if (at >= 0 && at < secrets.length) return secrets.subarray(at, at + SECRET_BYTES)
    }
    return undefined
  }

  wipe(owner: string, number: number): void {
    this.find(owner, number)?.fill(0)
  }

  wipeOwner(owner: string): void {
    for (const block of this.#owners.get(owner) ?? []) {
      block.secrets.fill(0)
      this.#bytes -= block.secrets.length
    }
    this.#owners.delete(owner)
  }

  wipeAll(): void {
    for (const blocks of this.#owners.values()) for (const block of blocks) block.secrets.fill(0)
    this.#owners.clear()
    this.#bytes = 0
  }

  #dropFromOldest(): void {
    for (const [owner, blocks] of this.#owners) {
      this.#drop(blocks)
      if (blocks.length === 0) this.#owners.delete(owner)
      return
    }
  }

  #drop(blocks: MemoryBlock[]): void {
    const dropped = blocks.shift()
    if (!dropped) return
    this.#bytes -= dropped.secrets.length
    dropped.secrets.fill(0)
  }
}

class BlockIndex {
  readonly #db: KeyringQueries
  readonly #blocks = new Map<string, SlotBlock[]>()

  constructor(db: KeyringQueries) {
    this.#db = db
  }

  /** The slot of each number that was ever handed out. */
  async locate(owner: BlockOwner, numbers: readonly number[]): Promise<Map<number, number>> {
    const slots = new Map<number, number>()
    let blocks = this.#known(owner)
    let refreshed = false
    for (const number of numbers) {
      let block = blockWith(blocks, number)
      if (!block && !refreshed) {
        blocks = await this.#refresh(owner)
        refreshed = true
        block = blockWith(blocks, number)
      }
      if (block) slots.set(number, block.slot + number - block.first)
    }
    return slots
  }

  /** Makes the next call read the blocks again: one may have been added before the known ones. */
  forget(owner: BlockOwner): void {
    this.#blocks.delete(keyOf(owner))
  }

  #known(owner: BlockOwner): SlotBlock[] {
    const known = this.#blocks.get(keyOf(owner))
    if (known) return known
    const empty: SlotBlock[] = []
    this.#blocks.set(keyOf(owner), empty)
    return empty
  }

  /** Adds blocks reserved since the last read, through this connection or another. */
  async #refresh(owner: BlockOwner): Promise<SlotBlock[]> {
    const known = this.#known(owner)
    const rows = await listBlocks(this.#db, owner, endOf(known))
    // Another refresh may have added some of them during the read.
    const end = endOf(known)
    for (const row of rows) if (row.first >= end) known.push(row)
    return known
  }
}

function endOf(blocks: readonly SlotBlock[]): number {
  const last = blocks.at(-1)
  return last ? last.first + last.count : 0
}

function blockWith(blocks: readonly SlotBlock[], number: number): SlotBlock | undefined {
  let low = 0
  let high = blocks.length
  while (low < high) {
    const middle = (low + high) >> 1
    const block = blocks[middle]
    if (!block || number < block.first) high = middle
    else if (number >= block.first + block.count) low = middle + 1
    else return Number.isInteger(number) ? block : undefined
  }
  return undefined
}
