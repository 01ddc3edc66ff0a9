// Secrets in this process's memory: of blocks it has reserved, and of the last second's reads.

import type { SecretBlock } from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'
import { isErased, SLOT_BYTES } from '../slot-file.ts'
import type { Range } from './blocks.sql.ts'
import type { Numbered, Owner } from './secrets.sql.ts'

/** A secret read is kept for one to two turns, then wiped. */
export const TURN_MS = 500
const RECENT_MAX = 100_000

interface HeldBlock extends Range {
  readonly owner: Owner
  readonly secrets: Buffer
}

type Recent = Map<string, Map<number, Buffer>>

export class HeldSecrets {
  readonly #now_ms: () => number
  readonly #blocks = new Map<string, Set<HeldBlock>>()
  // A block is wiped when whoever reserved it has let go of it.
  readonly #letGo = new FinalizationRegistry<HeldBlock>((held) => this.#drop(held))
  #young: Recent = new Map()
  #old: Recent = new Map()
  #kept = 0
  #turned_ms: number

  /** @param now_ms of a clock that only goes forward */
  constructor(now_ms: () => number) {
    this.#now_ms = now_ms
    this.#turned_ms = now_ms()
  }

  /** `secrets` are those of the range, one after another, and from now on ours. */
  block(owner: Owner, { first, end }: Range, secrets: Buffer): SecretBlock {
    const held: HeldBlock = { owner, first, end, secrets }
    const key = keyOf(owner)
    const blocks = this.#blocks.get(key) ?? new Set()
    this.#blocks.set(key, blocks.add(held))
    const block: SecretBlock = {
      first,
      count: end - first,
      // Through `block`, so that who has only this function has the block still.
      secretAt: (number) => secretIn(held, number, block.first),
    }
    this.#letGo.register(block, held)
    return block
  }

  /** A copy of a secret read within the last second. */
  find(owner: Owner, number: number): Buffer | undefined {
    this.turn()
    const key = keyOf(owner)
    const secret = this.#young.get(key)?.get(number) ?? this.#old.get(key)?.get(number)
    return secret && copyOf(secret)
  }

  /** Keeps a copy for at most a second. */
  keep(owner: Owner, { number, secret }: Numbered): void {
    this.turn()
    if (this.#kept >= RECENT_MAX) return
    const key = keyOf(owner)
    const own = this.#young.get(key) ?? new Map<number, Buffer>()
    this.#young.set(key, own)
    if (own.has(number)) return
    own.set(number, copyOf(secret))
    this.#kept += 1
  }

  /** Wipes what has been read too long ago. To be called every `TURN_MS`. */
  turn(): void {
    const age = this.#now_ms() - this.#turned_ms
    if (age < TURN_MS) return
    wipeRecent(this.#old)
    if (age >= 2 * TURN_MS) wipeRecent(this.#young)
    this.#old = this.#young
    this.#young = new Map()
    this.#kept = 0
    this.#turned_ms = this.#now_ms()
  }

  wipe(owner: Owner, numbers: readonly number[]): void {
    const key = keyOf(owner)
    for (const { first, end, secrets } of this.#blocks.get(key) ?? [])
      for (const number of numbers)
        if (number >= first && number < end) viewOf(secrets, number - first).fill(0)
    for (const recent of [this.#young.get(key), this.#old.get(key)])
      for (const number of numbers) {
        recent?.get(number)?.fill(0)
        recent?.delete(number)
      }
  }

  wipeTenant(tenant_id: string): void {
    for (const { owner, secrets } of this.blocks())
      if (owner.tenant_id === tenant_id) secrets.fill(0)
    for (const kind of ['fact', 'decision'] as const) {
      const key = keyOf({ tenant_id, kind })
      for (const recent of [this.#young, this.#old]) {
        for (const secret of recent.get(key)?.values() ?? []) secret.fill(0)
        recent.delete(key)
      }
    }
  }

  wipeRecent(): void {
    for (const recent of [this.#young, this.#old]) wipeRecent(recent)
    this.#kept = 0
  }

  wipeAll(): void {
    this.wipeRecent()
    for (const { secrets } of this.blocks()) secrets.fill(0)
    this.#blocks.clear()
  }

  blocks(): HeldBlock[] {
    return [...this.#blocks.values()].flatMap((blocks) => [...blocks])
  }

  #drop(held: HeldBlock): void {
    held.secrets.fill(0)
    const key = keyOf(held.owner)
    const blocks = this.#blocks.get(key)
    blocks?.delete(held)
    if (blocks?.size === 0) this.#blocks.delete(key)
  }
}

function secretIn({ owner, end, secrets }: HeldBlock, number: number, first: number): Buffer {
  if (!Number.isInteger(number) || number < first || number >= end)
    throw new KeyringError('bad_argument', `number ${number} is not of this block`)
  const secret = copyOf(viewOf(secrets, number - first))
  if (isErased(secret))
    throw new KeyringError('secret_destroyed', `the secret of ${owner.kind} ${number} is gone`)
  return secret
}

function viewOf(secrets: Buffer, index: number): Buffer {
  return secrets.subarray(index * SLOT_BYTES, (index + 1) * SLOT_BYTES)
}

function wipeRecent(recent: Recent): void {
  for (const own of recent.values()) for (const secret of own.values()) secret.fill(0)
  recent.clear()
}

function keyOf({ kind, tenant_id }: Owner): string {
  return `${kind}\n${tenant_id}`
}

// Not Buffer.from: small ones share a slab with unrelated data for as long as any part lives.
function copyOf(secret: Buffer): Buffer {
  const copy = Buffer.alloc(SLOT_BYTES)
  secret.copy(copy)
  return copy
}
