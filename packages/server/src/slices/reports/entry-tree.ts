// The Merkle tree over a log while it is walked (RFC 6962, section 2.1), its hashes in lower hex.

import { hash } from 'node:crypto'

const HASH_BYTES = 32
const HASH_HEX = 2 * HASH_BYTES

/**
 * A million entries take two million hashes. As texts they cost a third of what they do as byte
 * arrays, each of which is memory of its own.
 */
export class EntryTree {
  #size = 0
  /** Roots of perfect subtrees of falling size. */
  readonly #nodes: string[] = []
  /** Byte 0x01 and two hashes. */
  readonly #pair = Buffer.alloc(1 + 2 * HASH_BYTES, 1)
  /** Byte 0x00 and an entry. */
  #leaf = Buffer.alloc(4_096)

  get size(): number {
    return this.#size
  }

  /** What an entry is in the tree, and its id on the log. */
  leafOf(record: string): string {
    // UTF-8 takes at most three bytes for each unit of UTF-16.
    if (this.#leaf.length <= 3 * record.length) this.#leaf = Buffer.alloc(4 * record.length)
    const length = this.#leaf.write(record, 1)
    return hash('sha256', this.#leaf.subarray(0, length + 1), 'hex')
  }

  append(leaf: string): void {
    let node = leaf
    // Each trailing 1 bit of the size is a waiting left sibling, as carries are in an addition.
    for (let waiting = this.#size; waiting % 2 === 1; waiting = (waiting - 1) / 2)
      node = this.#join(this.#nodes.pop() ?? '', node)
    this.#nodes.push(node)
    this.#size += 1
  }

  /** Null: there is nothing in it. */
  get root(): string | null {
    return this.#nodes.length === 0
      ? null
      : this.#nodes.reduceRight((right, left) => this.#join(left, right))
  }

  #join(left: string, right: string): string {
    this.#pair.write(left, 1, HASH_HEX, 'hex')
    this.#pair.write(right, 1 + HASH_BYTES, HASH_HEX, 'hex')
    return hash('sha256', this.#pair, 'hex')
  }
}
