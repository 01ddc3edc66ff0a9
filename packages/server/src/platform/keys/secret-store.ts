// Numbered secrets of a tenant: reserved in blocks, read in bulk, destroyed one by one.

import { randomFillSync } from 'node:crypto'
import { BlockMemory } from './block-memory.ts'
import {
  type BlockRow,
  deleteBlocks,
  insertBlock,
  lastLedgerNumber,
  listBlocks,
} from './blocks.sql.ts'
import { takeSlots } from './instance.sql.ts'
import type { SecretBlock, SecretKind } from './keyring.ts'
import type { KeyringDb } from './keyring-db.ts'
import { KeyringError, requireInteger } from './keyring-error.ts'
import { isErased, SLOT_BYTES, type SlotFile, slotRuns } from './slot-file.ts'

const KINDS: readonly SecretKind[] = ['fact', 'decision']
const BLOCK_NUMBERS = 1024
const BLOCK_NUMBERS_MAX = 65_536
/** Slots this near are fetched by one read: 4 kB more cost less than a second call. */
const READ_GAP_SLOTS = 128
const RUN_SLOTS_MAX = 32_768

interface Owner {
  readonly key: string
  readonly tenant_id: string
  readonly kind: SecretKind
}

export class SecretStore {
  readonly #db: KeyringDb
  readonly #slots: SlotFile
  readonly #memory = new BlockMemory()
  readonly #blocks = new Map<string, BlockRow[]>()

  constructor(db: KeyringDb, slots: SlotFile) {
    this.#db = db
    this.#slots = slots
  }

  reserve(
    tenant_id: string,
    kind: SecretKind,
    { at_least, count = BLOCK_NUMBERS }: { at_least: number; count?: number },
  ): SecretBlock {
    requireInteger('at_least', at_least, 0)
    requireInteger('count', count, 1)
    if (count > BLOCK_NUMBERS_MAX)
      throw new KeyringError('bad_argument', `count must be at most ${BLOCK_NUMBERS_MAX}`)
    const owner = ownerOf(tenant_id, kind)
    const secrets = randomFillSync(Buffer.alloc(count * SLOT_BYTES))
    // Secrets are flushed before the row that names them: a crash in between leaves slots that
    // nobody was given, and the next reservation writes over them.
    const row = this.#db.transact(() => {
      const first = this.#firstFree(owner, at_least, count)
      const slot = takeSlots(this.#db, count)
      this.#slots.write(slot, secrets)
      insertBlock(this.#db, tenant_id, kind, { first, count, slot })
      return { first, count, slot }
    })
    this.#known(owner).push(row)
    this.#memory.add(owner.key, row.first, secrets)
    return { first: row.first, count, secretAt: (number) => this.#secretAt(owner, row, number) }
  }

  read(tenant_id: string, kind: SecretKind, numbers: readonly number[]) {
    const owner = ownerOf(tenant_id, kind)
    const found = new Map<number, Buffer | null>()
    const stored = new Map<number, number>()
    for (const number of numbers) {
      const held = this.#memory.find(owner.key, number)
      found.set(number, held && !isErased(held) ? copyOf(held) : null)
      if (held) continue
      const slot = this.#locate(owner, number)
      if (slot !== undefined) stored.set(slot, number)
    }
    this.#readStored(stored, found)
    return found
  }

  /** Makes a number that another keyring of this instance had made. false: it is here already. */
  install(
    tenant_id: string,
    kind: SecretKind,
    { number, secret }: { number: number; secret: Buffer },
  ): boolean {
    const owner = ownerOf(tenant_id, kind)
    if (this.#locate(owner, number) !== undefined) return false
    this.#db.transact(() => {
      const slot = takeSlots(this.#db, 1)
      this.#slots.write(slot, secret)
      insertBlock(this.#db, tenant_id, kind, { first: number, count: 1, slot })
    })
    // It may lie before blocks that are known: listed anew, in order.
    this.#blocks.delete(owner.key)
    return true
  }

  /** `numbers` that were never made are passed over. */
  destroy(tenant_id: string, kind: SecretKind, numbers: readonly number[]): void {
    const owner = ownerOf(tenant_id, kind)
    const slots = numbers.flatMap((number) => this.#locate(owner, number) ?? [])
    this.#slots.erase(slotRuns(slots, 0, RUN_SLOTS_MAX))
    for (const number of numbers) this.#memory.wipe(owner.key, number)
  }

  hasAny(tenant_id: string): boolean {
    return KINDS.some((kind) => listBlocks(this.#db, tenant_id, kind, 0).length > 0)
  }

  /** Every secret of the tenant; looked at again before what says where they lay is deleted. */
  destroyAll(tenant_id: string): void {
    for (const kind of KINDS) {
      const owner = ownerOf(tenant_id, kind)
      this.#memory.wipeOwner(owner.key)
      this.#blocks.delete(owner.key)
      for (const { slot, count } of listBlocks(this.#db, tenant_id, kind, 0))
        for (let start = slot; start < slot + count; start += RUN_SLOTS_MAX) {
          const run = { start, end: Math.min(start + RUN_SLOTS_MAX, slot + count) }
          this.#slots.erase([run])
          if (this.#slots.read(run).some((byte) => byte !== 0))
            throw new KeyringError(
              'keyring_damaged',
              'secrets were overwritten and are there still',
            )
        }
    }
    this.#db.transact(() => deleteBlocks(this.#db, tenant_id))
  }

  wipeMemory(): void {
    this.#memory.wipeAll()
  }

  // A number the ledger names is never made again: the ledger would destroy the new secret at
  // the next start. That only happens to a keyring restored from before those numbers.
  #firstFree(owner: Owner, at_least: number, count: number): number {
    const last = this.#refresh(owner).at(-1)
    let first = Math.max(last ? last.first + last.count : 1, at_least, 1)
    for (;;) {
      const end = first + count
      requireInteger('the end of the block', end, 1)
      const taken = lastLedgerNumber(this.#db, owner.tenant_id, owner.kind, { first, end })
      if (taken === undefined) return first
      first = taken + 1
    }
  }

  #secretAt(owner: Owner, block: BlockRow, number: number): Buffer {
    if (!Number.isInteger(number) || number < block.first || number >= block.first + block.count)
      throw new KeyringError('bad_argument', `number ${number} is not of this block`)
    const slot = block.slot + number - block.first
    const held = this.#memory.find(owner.key, number)
    const secret = held ? copyOf(held) : this.#slots.read({ start: slot, end: slot + 1 })
    if (isErased(secret))
      throw new KeyringError('secret_destroyed', `the secret of ${owner.kind} ${number} is gone`)
    return secret
  }

  #readStored(stored: ReadonlyMap<number, number>, into: Map<number, Buffer | null>): void {
    const slots = [...stored.keys()].sort((a, b) => a - b)
    let next = 0
    for (const run of slotRuns(slots, READ_GAP_SLOTS, RUN_SLOTS_MAX)) {
      const bytes = this.#slots.read(run)
      for (let slot = slots[next]; slot !== undefined && slot < run.end; slot = slots[++next]) {
        const at = (slot - run.start) * SLOT_BYTES
        const secret = bytes.subarray(at, at + SLOT_BYTES)
        const number = stored.get(slot)
        if (number !== undefined && !isErased(secret)) into.set(number, copyOf(secret))
      }
      bytes.fill(0)
    }
  }

  #locate(owner: Owner, number: number): number | undefined {
    const block = blockWith(this.#known(owner), number) ?? blockWith(this.#refresh(owner), number)
    return block && block.slot + number - block.first
  }

  #known(owner: Owner): BlockRow[] {
    const known = this.#blocks.get(owner.key)
    if (known) return known
    const listed: BlockRow[] = []
    this.#blocks.set(owner.key, listed)
    return listed
  }

  /** Adds what was reserved since, through this connection or another. */
  #refresh(owner: Owner): BlockRow[] {
    const known = this.#known(owner)
    const last = known.at(-1)
    const from = last ? last.first + last.count : 0
    known.push(...listBlocks(this.#db, owner.tenant_id, owner.kind, from))
    return known
  }
}

function ownerOf(tenant_id: string, kind: SecretKind): Owner {
  return { key: `${kind}\n${tenant_id}`, tenant_id, kind }
}

function blockWith(blocks: readonly BlockRow[], number: number): BlockRow | undefined {
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

// Not Buffer.from: small ones share a slab with unrelated data for as long as any part lives.
function copyOf(secret: Buffer): Buffer {
  const copy = Buffer.alloc(SLOT_BYTES)
  secret.copy(copy)
  return copy
}
