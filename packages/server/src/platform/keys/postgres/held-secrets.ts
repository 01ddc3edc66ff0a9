// An in-memory cache of secrets: of blocks that this process reserved, and recently read ones.

import type { SecretOwner } from '../core/secret-store.ts'
import type { SecretBlock } from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'
import type { NumberedSecret } from '../secret-bytes.ts'
import { copySecret, isErased, SECRET_BYTES, secretIn } from '../secret-bytes.ts'

/** A secret that was read is wiped after one to two periods. */
export const PERIOD_MS = 500
const RECENT_MAX = 100_000

interface HeldBlock {
  readonly owner: SecretOwner
  /** Numbers `first … end-1`. */
  readonly first: number
  readonly end: number
  readonly secrets: Buffer
}

type SecretsByOwner = Map<string, Map<number, Buffer>>

export class HeldSecrets {
  readonly #now_ms: () => number
  readonly #blocks = new Map<string, Set<HeldBlock>>()
  // A block is wiped once nothing references it.
  readonly #unreferenced = new FinalizationRegistry<HeldBlock>((held) => this.#drop(held))
  #young: SecretsByOwner = new Map()
  #old: SecretsByOwner = new Map()
  #kept = 0
  #period_began_ms: number

  /** @param now_ms a monotonic clock */
  constructor(now_ms: () => number) {
    this.#now_ms = now_ms
    this.#period_began_ms = now_ms()
  }

  /** Takes ownership of `secrets`, which are those of consecutive numbers from `first` on. */
  block(owner: SecretOwner, first: number, secrets: Buffer): SecretBlock {
    const count = secrets.length / SECRET_BYTES
    const held: HeldBlock = { owner, first, end: first + count, secrets }
    const key = keyOf(owner)
    const blocks = this.#blocks.get(key) ?? new Set()
    this.#blocks.set(key, blocks.add(held))
    const block: SecretBlock = {
      first,
      count,
      // This closure references `block`, so the block lives as long as the closure.
      secretAt: (number) => secretOfBlock(held, number, block.first),
    }
    this.#unreferenced.register(block, held)
    return block
  }

  /** A copy of a secret read within the last second. */
  find(owner: SecretOwner, number: number): Buffer | undefined {
    this.wipeExpired()
    const key = keyOf(owner)
    const secret = this.#young.get(key)?.get(number) ?? this.#old.get(key)?.get(number)
    return secret && copySecret(secret)
  }

  /** Keeps a copy for at most a second. */
  keep(owner: SecretOwner, { number, secret }: NumberedSecret): void {
    this.wipeExpired()
    if (this.#kept >= RECENT_MAX) return
    const key = keyOf(owner)
    const own = this.#young.get(key) ?? new Map<number, Buffer>()
    this.#young.set(key, own)
    if (own.has(number)) return
    own.set(number, copySecret(secret))
    this.#kept += 1
  }

  /** Wipes secrets whose time is over. Called every `PERIOD_MS`. */
  wipeExpired(): void {
    const age = this.#now_ms() - this.#period_began_ms
    if (age < PERIOD_MS) return
    wipeRecent(this.#old)
    if (age >= 2 * PERIOD_MS) wipeRecent(this.#young)
    this.#old = this.#young
    this.#young = new Map()
    this.#kept = 0
    this.#period_began_ms = this.#now_ms()
  }

  wipe(owner: SecretOwner, numbers: readonly number[]): void {
    const key = keyOf(owner)
    for (const { first, end, secrets } of this.#blocks.get(key) ?? [])
      for (const number of numbers)
        if (number >= first && number < end) secretIn(secrets, number - first).fill(0)
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

function secretOfBlock({ owner, end, secrets }: HeldBlock, number: number, first: number): Buffer {
  if (!Number.isInteger(number) || number < first || number >= end)
    throw new KeyringError('bad_argument', `number ${number} is not of this block`)
  const secret = copySecret(secretIn(secrets, number - first))
  if (isErased(secret))
    throw new KeyringError('secret_destroyed', `the secret of ${owner.kind} ${number} is gone`)
  return secret
}

function wipeRecent(recent: SecretsByOwner): void {
  for (const own of recent.values()) for (const secret of own.values()) secret.fill(0)
  recent.clear()
}

function keyOf({ kind, tenant_id }: SecretOwner): string {
  return `${kind}\n${tenant_id}`
}
