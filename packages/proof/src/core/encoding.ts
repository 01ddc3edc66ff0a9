// Bytes as text: hex, standard base64 and UTF-8, with strict decoders.
import { ProofError } from './errors.ts'

const encoder = new TextEncoder()
const hexOf = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** UTF-8 bytes. A lone surrogate becomes U+FFFD; callers for whom that matters check first. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text)
}

/** Lower-case hex. */
export function toHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += hexOf[byte]
  return text
}

/**
 * Decodes lower-case hex. Throws ProofError `malformed_encoding` for upper case, odd length or
 * anything else, so that one value has one spelling.
 */
export function fromHex(text: string): Uint8Array {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/.test(text)) {
    throw new ProofError('malformed_encoding', 'not lower-case hex')
  }
  const bytes = new Uint8Array(text.length / 2)
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16)
  }
  return bytes
}

/** Standard base64 with padding (RFC 4648 section 4). */
export function toBase64(bytes: Uint8Array): string {
  // In slices, because argument lists have a much lower length limit than arrays. `apply` reads the
  // bytes directly; a spread would copy them to a list first.
  let binary = ''
  for (let i = 0; i < bytes.length; i += 4096) {
    binary += Reflect.apply(String.fromCharCode, null, bytes.subarray(i, i + 4096))
  }
  return btoa(binary)
}

/**
 * Decodes standard base64. Throws ProofError `malformed_encoding` for a missing pad, white space,
 * the URL alphabet or nonzero bits after the last byte, so that one value has one spelling.
 */
export function fromBase64(text: string): Uint8Array {
  if (!BASE64.test(text)) throw new ProofError('malformed_encoding', 'not standard base64')
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
  // atob drops the unused low bits of the last digit; RFC 4648 3.5 lets a decoder refuse them.
  const tail = bytes.length % 3
  if (tail !== 0 && toBase64(bytes.subarray(bytes.length - tail)) !== text.slice(-4)) {
    throw new ProofError('malformed_encoding', 'base64 with stray bits')
  }
  return bytes
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let offset = 0
  for (const part of parts) {
    joined.set(part, offset)
    offset += part.length
  }
  return joined
}

/** Decodes an untrusted value as lower-case hex. Returns null if it is not. */
export function readHex(value: unknown): Uint8Array | null {
  return readWith(fromHex, value)
}

/** Decodes an untrusted value as standard base64. Returns null if it is not. */
export function readBase64(value: unknown): Uint8Array | null {
  return readWith(fromBase64, value)
}

function readWith(decode: (text: string) => Uint8Array, value: unknown): Uint8Array | null {
  if (typeof value !== 'string') return null
  try {
    return decode(value)
  } catch {
    return null
  }
}
