// Checkpoints as C2SP signed notes (c2sp.org/signed-note, c2sp.org/tlog-checkpoint).
import { sha256 } from '../core/digest.ts'
import {
  concatBytes,
  equalBytes,
  fromBase64,
  fromHex,
  toBase64,
  toHex,
  utf8,
} from '../core/encoding.ts'
import { ProofError } from '../core/errors.ts'
import { verifyEd25519 } from '../core/signature.ts'

const ED25519_TYPE = 0x01
/** The signature type of cosignatures (c2sp.org/tlog-cosignature). */
export const COSIGNATURE_TYPE = 0x04
// The specification asks verifiers to accept at least 16 and to have a limit.
const SIGNATURES_MAX = 64
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression searches for them
const CONTROL = /[\u0000-\u0009\u000b-\u001f]/
const KEY_NAME = /^[^\s+]+$/u
const DECIMAL = /^(?:0|[1-9][0-9]*)$/

export type NoteSignature = {
  readonly name: string
  /** Four bytes. */
  readonly keyHash: Uint8Array
  readonly signature: Uint8Array
}

export type Note = { readonly body: string; readonly signatures: readonly NoteSignature[] }

/** A signed tree head: `root` is 32 bytes, `body` the text that is signed. */
export type Checkpoint = Note & {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}

/** SHA-256(name ‖ 0x0A ‖ type ‖ public key)[:4]. */
export function noteKeyHash(
  name: string,
  publicKey: Uint8Array,
  type: number = ED25519_TYPE,
): Uint8Array {
  return sha256(concatBytes(utf8(name), Uint8Array.of(0x0a, type), publicKey)).slice(0, 4)
}

/** The form other tools take a key in, the vkey: `name+hash+base64(type ‖ public key)`. */
export function verifierKey(
  name: string,
  publicKey: Uint8Array,
  type: number = ED25519_TYPE,
): string {
  const encoded = toBase64(concatBytes(Uint8Array.of(type), publicKey))
  return `${requireName(name)}+${toHex(noteKeyHash(name, publicKey, type))}+${encoded}`
}

export type VerifierKey = {
  readonly name: string
  /** Four bytes. */
  readonly keyHash: Uint8Array
  readonly type: number
  readonly publicKey: Uint8Array
}

/** Reads a vkey of an Ed25519 key. Throws ProofError `malformed_note` for any other text. */
export function parseVerifierKey(text: string): VerifierKey {
  // The base64 of the key may have a plus sign of its own.
  const [name = '', hash = '', ...rest] = text.split('+')
  const typed = decodeBase64(rest.join('+'))
  const [type = 0] = typed
  const publicKey = typed.slice(1)
  if (publicKey.length !== 32) throw malformedNote('not the key of an Ed25519 signature')
  if (verifierKey(name, publicKey, type) !== text) throw malformedNote('the key id does not match')
  return { name, keyHash: fromHex(hash), type, publicKey }
}

/** The text to sign: origin, size and base64 root, a line each. */
export function formatCheckpointBody(head: {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}): string {
  if (!Number.isSafeInteger(head.size) || head.size < 0 || head.root.length !== 32) {
    throw malformedNote('a checkpoint needs a size and a 32-byte root')
  }
  return `${requireName(head.origin)}\n${head.size}\n${toBase64(head.root)}\n`
}

/** The whole note: the text, a blank line, one line for each signature. */
export function assembleNote(body: string, signatures: readonly NoteSignature[]): string {
  if (!body.endsWith('\n') || CONTROL.test(body)) throw malformedNote('the text is not a note text')
  const lines = signatures.map(
    ({ name, keyHash, signature }) =>
      `— ${requireName(name)} ${toBase64(concatBytes(keyHash, signature))}\n`,
  )
  return `${body}\n${lines.join('')}`
}

/** Throws ProofError `malformed_note` for anything the specification does not allow. */
export function parseNote(text: string): Note {
  if (!text.isWellFormed() || CONTROL.test(text)) throw malformedNote('control character in a note')
  // The text may hold empty lines itself: the last one divides it from the signatures.
  const divide = text.lastIndexOf('\n\n')
  if (divide < 0 || !text.endsWith('\n')) throw malformedNote('no signatures, or no final newline')
  const lines = text.slice(divide + 2, -1).split('\n')
  if (lines.length > SIGNATURES_MAX) throw malformedNote('too many signatures')
  return { body: text.slice(0, divide + 1), signatures: lines.map(parseSignatureLine) }
}

function parseSignatureLine(line: string): NoteSignature {
  const [dash, name, encoded, ...rest] = line.split(' ')
  if (dash !== '—' || name === undefined || encoded === undefined || rest.length > 0) {
    throw malformedNote('a signature line is not "— name base64"')
  }
  const bytes = decodeBase64(encoded)
  if (bytes.length < 5) throw malformedNote('a signature is too short')
  return { name: requireName(name), keyHash: bytes.slice(0, 4), signature: bytes.slice(4) }
}

/**
 * Reads a checkpoint without judging its signatures. Extension lines are refused: this log writes
 * none, and nobody audits them. Throws ProofError `malformed_note`.
 */
export function parseCheckpoint(noteText: string): Checkpoint {
  const note = parseNote(noteText)
  const [origin, size, root, end, ...rest] = note.body.split('\n')
  if (origin === undefined || size === undefined || root === undefined || end !== '') {
    throw malformedNote('a checkpoint has three lines')
  }
  if (rest.length > 0) throw malformedNote('a checkpoint has three lines')
  if (!DECIMAL.test(size) || !Number.isSafeInteger(Number(size))) throw malformedNote('tree size')
  const rootHash = decodeBase64(root)
  if (rootHash.length !== 32) throw malformedNote('the root is not 32 bytes')
  return { ...note, origin: requireName(origin), size: Number(size), root: rootHash }
}

export type CheckpointVerdict = {
  readonly ok: boolean
  readonly reason?: 'malformed' | 'wrong_origin' | 'no_signature_by_key' | 'signature_invalid'
  readonly checkpoint?: Checkpoint
}

/**
 * Checks that the key's holder signed the note under the checkpoint's own origin as name.
 * Signatures by others (witnesses) are ignored, as the specification requires. Never throws.
 */
export async function verifyCheckpoint(
  noteText: string,
  expected: { readonly origin?: string; readonly publicKey: Uint8Array },
): Promise<CheckpointVerdict> {
  let checkpoint: Checkpoint
  try {
    checkpoint = parseCheckpoint(noteText)
  } catch {
    return { ok: false, reason: 'malformed' }
  }
  const { origin } = checkpoint
  if (expected.origin !== undefined && expected.origin !== origin) {
    return { ok: false, reason: 'wrong_origin', checkpoint }
  }
  const own = signaturesBy(checkpoint, expected.publicKey)
  if (own.length === 0) return { ok: false, reason: 'no_signature_by_key', checkpoint }
  for (const { signature } of own) {
    if (!(await verifyEd25519(expected.publicKey, utf8(checkpoint.body), signature))) {
      return { ok: false, reason: 'signature_invalid', checkpoint }
    }
  }
  return { ok: true, checkpoint }
}

/** The signature lines that claim to be by `publicKey` in the checkpoint's own name. */
export function signaturesBy(checkpoint: Checkpoint, publicKey: Uint8Array): NoteSignature[] {
  const keyHash = noteKeyHash(checkpoint.origin, publicKey)
  return checkpoint.signatures.filter(
    (line) => line.name === checkpoint.origin && equalBytes(line.keyHash, keyHash),
  )
}

// The origin is also the signer's name, and a key name has no white space and no plus.
function requireName(name: string): string {
  if (!KEY_NAME.test(name) || CONTROL.test(name) || !name.isWellFormed()) {
    throw malformedNote('not a key name')
  }
  return name
}

function decodeBase64(text: string): Uint8Array {
  try {
    return fromBase64(text)
  } catch {
    throw malformedNote('not base64')
  }
}

function malformedNote(what: string): ProofError {
  return new ProofError('malformed_note', what)
}
