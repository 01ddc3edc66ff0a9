// Checkpoints as C2SP signed notes (c2sp.org/signed-note, c2sp.org/tlog-checkpoint).
import { concatBytes, equalBytes, toBase64, utf8 } from '../core/encoding.ts'
import { verifyEd25519 } from '../core/signature.ts'
import {
  CONTROL,
  decodeNoteBase64,
  malformedNote,
  noteKeyHash,
  requireKeyName,
} from './verifier-key.ts'

// The specification requires verifiers to have a limit, and to accept at least 16.
const SIGNATURES_MAX = 64
const DECIMAL = /^(?:0|[1-9][0-9]*)$/

export type NoteSignature = {
  readonly name: string
  /** The key hash of the signature line: four bytes. */
  readonly keyHash: Uint8Array
  readonly signature: Uint8Array
}

export type Note = { readonly body: string; readonly signatures: readonly NoteSignature[] }

/** A signed tree head. `root` is 32 bytes; `body` is the signed text. */
export type Checkpoint = Note & {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}

/** The text to sign: origin, size and base64 root, on one line each. */
export function formatCheckpointBody(head: {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}): string {
  if (!Number.isSafeInteger(head.size) || head.size < 0 || head.root.length !== 32) {
    throw malformedNote('a checkpoint needs a size and a 32-byte root')
  }
  return `${requireKeyName(head.origin)}\n${head.size}\n${toBase64(head.root)}\n`
}

/** The whole note: the text, a blank line, one line for each signature. */
export function assembleNote(body: string, signatures: readonly NoteSignature[]): string {
  if (!body.endsWith('\n') || CONTROL.test(body)) throw malformedNote('the text is not a note text')
  const lines = signatures.map(
    ({ name, keyHash, signature }) =>
      `— ${requireKeyName(name)} ${toBase64(concatBytes(keyHash, signature))}\n`,
  )
  return `${body}\n${lines.join('')}`
}

/** Parses a note. Throws ProofError `malformed_note` for what the specification does not allow. */
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
  const bytes = decodeNoteBase64(encoded)
  if (bytes.length < 5) throw malformedNote('a signature is too short')
  return { name: requireKeyName(name), keyHash: bytes.slice(0, 4), signature: bytes.slice(4) }
}

/**
 * Parses a checkpoint without verifying its signatures. Extension lines are refused, because this
 * log writes none and nobody audits them. Throws ProofError `malformed_note`.
 */
export function parseCheckpoint(noteText: string): Checkpoint {
  const note = parseNote(noteText)
  const [origin, size, root, end, ...rest] = note.body.split('\n')
  if (origin === undefined || size === undefined || root === undefined || end !== '') {
    throw malformedNote('a checkpoint has three lines')
  }
  if (rest.length > 0) throw malformedNote('a checkpoint has three lines')
  if (!DECIMAL.test(size) || !Number.isSafeInteger(Number(size))) throw malformedNote('tree size')
  const rootHash = decodeNoteBase64(root)
  if (rootHash.length !== 32) throw malformedNote('the root is not 32 bytes')
  return { ...note, origin: requireKeyName(origin), size: Number(size), root: rootHash }
}

export type CheckpointVerdict = {
  readonly ok: boolean
  readonly reason?: 'malformed' | 'wrong_origin' | 'no_signature_by_key' | 'signature_invalid'
  readonly checkpoint?: Checkpoint
}

/**
 * Verifies that the key signed the note under the checkpoint's origin as name. Signatures by others
 * (witnesses) are ignored, as the specification requires. Never throws.
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

/** The signature lines with the checkpoint's origin as name and the hash of `publicKey`. */
export function signaturesBy(checkpoint: Checkpoint, publicKey: Uint8Array): NoteSignature[] {
  const keyHash = noteKeyHash(checkpoint.origin, publicKey)
  return checkpoint.signatures.filter(
    (line) => line.name === checkpoint.origin && equalBytes(line.keyHash, keyHash),
  )
}
