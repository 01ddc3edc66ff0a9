// Seals bytes with AES-256-GCM: nonce, ciphertext, tag.

import { createCipheriv, createDecipheriv, type KeyObject, randomFillSync } from 'node:crypto'

const NONCE_BYTES = 12
const TAG_BYTES = 16
export const SEAL_OVERHEAD_BYTES = NONCE_BYTES + TAG_BYTES

/** The bytes were not sealed under this key and this associated data, or were changed. */
export class SealError extends Error {
  constructor() {
    super('sealed bytes do not open under this key')
    this.name = 'SealError'
  }
}

// Draws random nonces from the system for 256 seals at a time, because the call costs more than the
// encryption of a short text.
const pool = Buffer.alloc(NONCE_BYTES * 256)
let poolUsed = pool.length

function takeNonce(into: Buffer): void {
  if (poolUsed === pool.length) {
    randomFillSync(pool)
    poolUsed = 0
  }
  pool.copy(into, 0, poolUsed, poolUsed + NONCE_BYTES)
  poolUsed += NONCE_BYTES
}

/** Returns nonce (12) ‖ ciphertext ‖ tag (16), per NIST SP 800-38D; `key` has 256 bits. */
export function seal(key: KeyObject, aad: Uint8Array, plaintext: Uint8Array): Buffer {
  const nonce = Buffer.allocUnsafe(NONCE_BYTES)
  takeNonce(nonce)
  return sealWithNonce({ key, aad, nonce }, plaintext)
}

/** Returns the plaintext or throws SealError; never returns unauthenticated bytes. */
export function open(key: KeyObject, aad: Uint8Array, sealed: Uint8Array): Buffer {
  if (sealed.length < SEAL_OVERHEAD_BYTES) throw new SealError()
  const nonce = sealed.subarray(0, NONCE_BYTES)
  return openWithNonce({ key, aad, nonce }, sealed.subarray(NONCE_BYTES))
}

interface SealInputs {
  readonly key: KeyObject
  readonly aad: Uint8Array
  /** 12 bytes. */
  readonly nonce: Uint8Array
}

/** For published vectors only, because a nonce used twice under one key reveals both texts. */
export function sealWithNonce({ key, aad, nonce }: SealInputs, plaintext: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(aad)
  const body = cipher.update(plaintext)
  cipher.final()
  return Buffer.concat([nonce, body, cipher.getAuthTag()])
}

/** `body` is ciphertext ‖ tag. */
export function openWithNonce({ key, aad, nonce }: SealInputs, body: Uint8Array): Buffer {
  if (body.length < TAG_BYTES) throw new SealError()
  const end = body.length - TAG_BYTES
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(aad)
  decipher.setAuthTag(body.subarray(end))
  const plaintext = decipher.update(body.subarray(0, end))
  try {
    decipher.final()
  } catch {
    plaintext.fill(0)
    throw new SealError()
  }
  return plaintext
}
