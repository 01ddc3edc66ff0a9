// Finds facts with exactly the same content without keeping any content.
import { hash } from 'node:crypto'

/** 128 bits as 16 Latin-1 characters. */
export type Fingerprint = string

/**
 * A keyed digest of a content: with a key that dies with the process, what is left in memory says
 * nothing about an erased content, and no writer can prepare two contents that collide.
 */
export function fingerprintOf(content: string, key: Uint8Array): Fingerprint {
  const text = Buffer.from(content, 'utf8')
  const keyed = Buffer.allocUnsafeSlow(key.length + text.length)
  keyed.set(key)
  keyed.set(text, key.length)
  const digest = hash('sha256', keyed, 'buffer')
  // The copy of the content goes with this call, not with the next garbage collection.
  keyed.fill(0)
  text.fill(0)
  return digest.toString('latin1', 0, 16)
}

/** Refs by the fingerprint of their content. */
export class ContentFingerprints {
  readonly #refs = new Map<Fingerprint, number[]>()

  add(fingerprint: Fingerprint, ref: number): void {
    const refs = this.#refs.get(fingerprint)
    if (refs === undefined) this.#refs.set(fingerprint, [ref])
    else refs.push(ref)
  }

  remove(fingerprint: Fingerprint, ref: number): void {
    const refs = this.#refs.get(fingerprint)
    const at = refs?.indexOf(ref) ?? -1
    if (refs === undefined || at < 0) return
    if (refs.length === 1) this.#refs.delete(fingerprint)
    else refs.splice(at, 1)
  }

  /** The refs with this content, in no particular order. */
  find(fingerprint: Fingerprint): readonly number[] {
    return this.#refs.get(fingerprint) ?? []
  }

  bytes(): number {
    return this.#refs.size * 140
  }
}
