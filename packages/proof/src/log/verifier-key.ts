// Keys of signed notes: their names, their hashes and their text form (c2sp.org/signed-note).
import { sha256 } from '../core/digest.ts'
import { concatBytes, fromBase64, fromHex, toBase64, toHex, utf8 } from '../core/encoding.ts'
import { ProofError } from '../core/errors.ts'

const ED25519_TYPE = 0x01
/** The signature type of cosignatures (c2sp.org/tlog-cosignature). */
export const COSIGNATURE_TYPE = 0x04
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression searches for them
export const CONTROL = /[\u0000-\u0009\u000b-\u001f]/
const KEY_NAME = /^[^\s+]+$/u

/** The hash that names a key in notes: SHA-256(name ‖ 0x0A ‖ type ‖ public key)[:4]. */
export function noteKeyHash(
  name: string,
  publicKey: Uint8Array,
  type: number = ED25519_TYPE,
): Uint8Array {
  return sha256(concatBytes(utf8(name), Uint8Array.of(0x0a, type), publicKey)).slice(0, 4)
}

/** The vkey, the text form of a key for other tools: `name+hash+base64(type ‖ public key)`. */
export function verifierKey(
  name: string,
  publicKey: Uint8Array,
  type: number = ED25519_TYPE,
): string {
  const encoded = toBase64(concatBytes(Uint8Array.of(type), publicKey))
  return `${requireKeyName(name)}+${toHex(noteKeyHash(name, publicKey, type))}+${encoded}`
}

export type VerifierKey = {
  readonly name: string
  /** The hash of name, type and key: four bytes. */
  readonly keyHash: Uint8Array
  readonly type: number
  readonly publicKey: Uint8Array
}

/** Parses the vkey of an Ed25519 key. Throws ProofError `malformed_note` for any other text. */
export function parseVerifierKey(text: string): VerifierKey {
  // The base64 of the key may contain a plus sign.
  const [name = '', hash = '', ...rest] = text.split('+')
  const typed = decodeNoteBase64(rest.join('+'))
  const [type = 0] = typed
  const publicKey = typed.slice(1)
  if (publicKey.length !== 32) throw malformedNote('not the key of an Ed25519 signature')
  if (verifierKey(name, publicKey, type) !== text) throw malformedNote('the key id does not match')
  return { name, keyHash: fromHex(hash), type, publicKey }
}

// The origin is also the signer's name, and a key name has no white space and no plus.
export function requireKeyName(name: string): string {
  if (!KEY_NAME.test(name) || CONTROL.test(name) || !name.isWellFormed()) {
    throw malformedNote('not a key name')
  }
  return name
}

/** Decodes base64. Throws ProofError `malformed_note` if the text is not base64. */
export function decodeNoteBase64(text: string): Uint8Array {
  try {
    return fromBase64(text)
  } catch {
    throw malformedNote('not base64')
  }
}

export function malformedNote(what: string): ProofError {
  return new ProofError('malformed_note', what)
}
