// Cosignatures of witnesses on checkpoints: cosignature/v1 (c2sp.org/tlog-cosignature), and the
// body of add-checkpoint, which asks for one (c2sp.org/tlog-witness).

import { concatBytes, equalBytes, fromBase64, toBase64, utf8 } from '../core/encoding.ts'
import { ProofError } from '../core/errors.ts'
import { verifyEd25519 } from '../core/signature.ts'
import type { Check } from '../core/verdict.ts'
import { assembleNote, type NoteSignature, parseNote } from './note.ts'
import {
  COSIGNATURE_TYPE,
  noteKeyHash,
  parseVerifierKey,
  type VerifierKey,
} from './verifier-key.ts'

/** Length of the time before the Ed25519 signature: seconds since 1970, big-endian. */
const TIME_BYTES = 8
const SIGNATURE_BYTES = TIME_BYTES + 64

/** The message that a witness signs: two lines, then the whole text of the checkpoint. */
export function cosignedMessage(body: string, timestamp: number): Uint8Array {
  if (!Number.isSafeInteger(timestamp) || timestamp < 0)
    throw new ProofError('malformed_note', 'the time of a cosignature is whole seconds')
  return utf8(`cosignature/v1\ntime ${timestamp}\n${body}`)
}

/** Makes the signature line of a witness. `sign` returns an Ed25519 signature with its key. */
export function cosignCheckpoint(
  body: string,
  witness: {
    readonly name: string
    readonly publicKey: Uint8Array
    readonly timestamp: number
    readonly sign: (message: Uint8Array) => Uint8Array
  },
): NoteSignature {
  const { name, publicKey, timestamp, sign } = witness
  const time = new Uint8Array(TIME_BYTES)
  new DataView(time.buffer).setBigUint64(0, BigInt(timestamp))
  const signature = concatBytes(time, sign(cosignedMessage(body, timestamp)))
  return { name, keyHash: noteKeyHash(name, publicKey, COSIGNATURE_TYPE), signature }
}

/** Parses the vkey of a witness. Throws ProofError `malformed_note` for any other text. */
export function parseWitnessKey(text: string): VerifierKey {
  const key = parseVerifierKey(text)
  if (key.type === COSIGNATURE_TYPE) return key
  throw new ProofError('malformed_note', 'not the key of a witness (signature type 4)')
}

export type CosignatureVerdict = {
  /** The vkey whose cosignature was looked for. */
  readonly witness: string
  readonly ok: boolean
  readonly reason?: 'malformed' | 'no_cosignature' | 'cosignature_invalid'
  /** When the witness says it signed, in seconds since 1970. */
  readonly timestamp?: number
  readonly line?: NoteSignature
}

/**
 * Returns for each witness key whether the signed note has its cosignature. A line with the name
 * and key hash of the witness that does not verify makes the verdict `cosignature_invalid`, even if
 * another line verifies. Never throws for a note; throws ProofError for an invalid witness key.
 */
export async function verifyCosignatures(
  note: string,
  witnesses: readonly string[],
): Promise<CosignatureVerdict[]> {
  const keys = witnesses.map((text) => ({ text, key: parseWitnessKey(text) }))
  const read = tryParseNote(note)
  if (read === null)
    return keys.map(({ text }) => ({ witness: text, ok: false, reason: 'malformed' }))
  const verdicts = keys.map(({ text, key }) => verifyOne(read, text, key))
  return Promise.all(verdicts)
}

async function verifyOne(
  { body, signatures }: ReturnType<typeof parseNote>,
  witness: string,
  { name, keyHash, publicKey }: VerifierKey,
): Promise<CosignatureVerdict> {
  const own = signatures.filter((line) => line.name === name && equalBytes(line.keyHash, keyHash))
  const [first] = own
  if (first === undefined) return { witness, ok: false, reason: 'no_cosignature' }
  let newest = { witness, ok: true, timestamp: -1, line: first }
  for (const line of own) {
    const timestamp = timestampOf(line.signature)
    const held =
      timestamp !== null &&
      (await verifyEd25519(
        publicKey,
        cosignedMessage(body, timestamp),
        line.signature.slice(TIME_BYTES),
      ))
    if (!held) return { witness, ok: false, reason: 'cosignature_invalid' }
    if (timestamp > newest.timestamp) newest = { ...newest, timestamp, line }
  }
  return newest
}

function timestampOf(signature: Uint8Array): number | null {
  if (signature.length !== SIGNATURE_BYTES) return null
  const view = new DataView(signature.buffer, signature.byteOffset, TIME_BYTES)
  const seconds = view.getBigUint64(0)
  return seconds <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(seconds) : null
}

function tryParseNote(note: string): ReturnType<typeof parseNote> | null {
  try {
    return parseNote(note)
  } catch {
    return null
  }
}

/**
 * Checks that at least `required` of the witnesses cosigned the note. A line that does not verify
 * is a failed check of its own; a witness without a line only does not count.
 */
export async function checkWitnesses(
  note: string,
  { keys, required }: { keys: readonly string[]; required?: number | undefined },
): Promise<Check[]> {
  const witnesses = [...new Set(keys)]
  const verdicts = await verifyCosignatures(note, witnesses)
  const checks = verdicts.flatMap(({ witness, ok, reason }) =>
    ok || reason === 'cosignature_invalid'
      ? [
          {
            name: `cosignature ${parseWitnessKey(witness).name}`,
            ok,
            ...(ok ? {} : { detail: reason }),
          },
        ]
      : [],
  )
  const count = verdicts.filter(({ ok }) => ok).length
  const detail = `${count} of the ${required ?? witnesses.length} required witnesses cosigned it`
  const enough = count >= (required ?? witnesses.length)
  return [...checks, { name: 'witnessed', ok: enough, ...(enough ? {} : { detail }) }]
}

/**
 * Appends untrusted lines to the note. Throws ProofError `malformed_note` if they are not signature
 * lines: other text could change which part of the note counts as signed.
 */
export function appendLines(note: string, lines: string): string {
  if (!/^(?:— [^\n]+\n)*$/.test(lines))
    throw new ProofError('malformed_note', 'not signature lines')
  return `${note}${lines}`
}

/** The note with further signature lines after its own. Lines it already has are not repeated. */
export function addSignatures(note: string, lines: readonly NoteSignature[]): string {
  const { body, signatures } = parseNote(note)
  const added = lines.filter((line) => !signatures.some((known) => isSameLine(known, line)))
  return assembleNote(body, [...signatures, ...added])
}

const isSameLine = (a: NoteSignature, b: NoteSignature): boolean =>
  a.name === b.name && equalBytes(a.keyHash, b.keyHash) && equalBytes(a.signature, b.signature)

const DECIMAL = /^(?:0|[1-9][0-9]*)$/
/** The most lines of a proof: it has no more hashes than a size has bits. */
const PROOF_LINES_MAX = 63

export type AddCheckpointRequest = {
  /** The tree size of the checkpoint that the witness cosigned last. */
  readonly oldSize: number
  /** Consistency proof from `oldSize` to the checkpoint (RFC 6962, section 2.1.2). */
  readonly path: readonly Uint8Array[]
  /** The signed checkpoint, verbatim. */
  readonly checkpoint: string
}

export function formatAddCheckpoint({ oldSize, path, checkpoint }: AddCheckpointRequest): string {
  return [`old ${oldSize}`, ...path.map(toBase64), '', checkpoint].join('\n')
}

/** Parses the body, except for the checkpoint in it. Throws ProofError `malformed_proof`. */
export function parseAddCheckpoint(text: string): AddCheckpointRequest {
  const divide = text.indexOf('\n\n')
  if (divide < 0) throw malformed('no empty line before the checkpoint')
  const [first = '', ...lines] = text.slice(0, divide).split('\n')
  const digits = first.startsWith('old ') ? first.slice(4) : ''
  if (!DECIMAL.test(digits) || !Number.isSafeInteger(Number(digits))) throw malformed('old size')
  if (lines.length > PROOF_LINES_MAX) throw malformed('the proof is too long')
  const path = lines.map(decodeHash)
  return { oldSize: Number(digits), path, checkpoint: text.slice(divide + 2) }
}

function decodeHash(line: string): Uint8Array {
  let hash: Uint8Array
  try {
    hash = fromBase64(line)
  } catch {
    throw malformed('not base64')
  }
  if (hash.length !== 32) throw malformed('a hash is not 32 bytes')
  return hash
}

const malformed = (what: string): ProofError => new ProofError('malformed_proof', what)
