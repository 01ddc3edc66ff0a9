// A cache of the secrets in the blocks reserved last, so that frequent writes read no file.

import { SECRET_BYTES } from '../secret-bytes.ts'

/** Per tenant and kind: the block in use and those just before it. */
const BLOCKS_PER_OWNER_MAX = 4
/** 32 bytes a number: 256 blocks of 1,024 are 8 MiB. */
const BYTES_MAX = 8 * 1024 * 1024

interface MemoryBlock {
  readonly first: number
  /** Outside the JavaScript heap's moving parts, so that wiping it wipes the only copy. */
  readonly secrets: Buffer
}

export class BlockMemory {
  // In order of last reservation: the blocks of the first entry are dropped first.
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

  /** A view of the 32 bytes, zeros when destroyed; undefined when not in memory. */
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
