// Finds facts with exactly the same content without keeping any content.
import { hash } from 'node:crypto'
import { grown } from './grown.ts'

/** 128 bits. */
const WORDS = 4
const NONE = -1
const HEADS_AT_FIRST = 16

/** Four 32-bit words. */
export type Fingerprint = Uint32Array

/**
 * A keyed digest of a content: with a key that dies with the process, what is left in memory says
 * nothing about an erased content, and no writer can prepare two contents that collide.
 */
export function fingerprintOf(content: string, key: Uint8Array): Fingerprint {
  const keyed = Buffer.allocUnsafeSlow(key.length + Buffer.byteLength(content))
  keyed.set(key)
  keyed.write(content, key.length, 'utf8')
  const digest = hash('sha256', keyed, 'buffer')
  // The copy of the content goes with this call, not with the next garbage collection.
  keyed.fill(0)
  return Uint32Array.from({ length: WORDS }, (_, word) => digest.readUInt32LE(word * 4))
}

/** Fingerprints by slot, chained by their first word. */
export class ContentFingerprints {
  #words = new Uint32Array(0)
  /** The next slot of a chain, or NONE. */
  #next = new Int32Array(0)
  #heads = new Int32Array(HEADS_AT_FIRST).fill(NONE)
  #size = 0

  /** For a slot that has none. */
  add(slot: number, fingerprint: Fingerprint): void {
    this.#words = grown(this.#words, slot * WORDS + WORDS - 1)
    this.#next = grown(this.#next, slot, NONE)
    this.#words.set(fingerprint, slot * WORDS)
    this.#size++
    if (this.#size > this.#heads.length) this.#widen()
    this.#link(slot)
  }

  remove(slot: number): void {
    const head = this.#headOf(this.#words[slot * WORDS] ?? 0)
    let before = NONE
    let at = this.#heads[head] ?? NONE
    while (at !== slot) {
      if (at === NONE) return
      before = at
      at = this.#next[at] ?? NONE
    }
    if (before === NONE) this.#heads[head] = this.#next[slot] ?? NONE
    else this.#next[before] = this.#next[slot] ?? NONE
    this.#next[slot] = NONE
    this.#words.fill(0, slot * WORDS, slot * WORDS + WORDS)
    this.#size--
  }

  /** The slots with this content, in no particular order. */
  *find(fingerprint: Fingerprint): Iterable<number> {
    let slot = this.#heads[this.#headOf(fingerprint[0] ?? 0)] ?? NONE
    for (; slot !== NONE; slot = this.#next[slot] ?? NONE) {
      if (this.#has(slot, fingerprint)) yield slot
    }
  }

  bytes(): number {
    return (this.#words.length + this.#next.length + this.#heads.length) * 4
  }

  #has(slot: number, fingerprint: Fingerprint): boolean {
    for (let word = 0; word < WORDS; word++) {
      if (this.#words[slot * WORDS + word] !== fingerprint[word]) return false
    }
    return true
  }

  #headOf(word: number): number {
    return word & (this.#heads.length - 1)
  }

  #link(slot: number): void {
    const head = this.#headOf(this.#words[slot * WORDS] ?? 0)
    this.#next[slot] = this.#heads[head] ?? NONE
    this.#heads[head] = slot
  }

  #widen(): void {
    const heads = this.#heads
    const chains = this.#next.slice()
    this.#heads = new Int32Array(heads.length * 2).fill(NONE)
    for (const first of heads) {
      for (let slot = first; slot !== NONE; slot = chains[slot] ?? NONE) this.#link(slot)
    }
  }
}
