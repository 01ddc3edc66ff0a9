// Inclusion proofs as text: C2SP tlog-proof (c2sp.org/tlog-proof@v1).
import { fromBase64, toBase64 } from '../core/encoding.ts'
import { ProofError } from '../core/errors.ts'

const HEADER = 'c2sp.org/tlog-proof@v1'
const DECIMAL = /^(?:0|[1-9][0-9]*)$/
// A path is never longer than the bits of a size.
const PATH_MAX = 64

export type TlogProof = {
  /** Zero-based position of the entry. */
  readonly index: number
  /** 32-byte hashes from the leaf's sibling up to the root's child. */
  readonly path: readonly Uint8Array[]
  /** The signed checkpoint, verbatim. */
  readonly checkpoint: string
  /** Opaque bytes that are not authenticated. Never trust them. */
  readonly extra?: Uint8Array
}

/** Formats a proof as text. Throws ProofError `malformed_proof` if a part is malformed. */
export function formatTlogProof(proof: TlogProof): string {
  if (!Number.isSafeInteger(proof.index) || proof.index < 0) throw malformedProof('index')
  if (proof.path.some((hash) => hash.length !== 32)) throw malformedProof('a hash is not 32 bytes')
  if (!proof.checkpoint.endsWith('\n')) throw malformedProof('the checkpoint has no final newline')
  const extra = proof.extra === undefined ? [] : [`extra ${toBase64(proof.extra)}`]
  const lines = [HEADER, ...extra, `index ${proof.index}`, ...proof.path.map(toBase64)]
  return `${lines.join('\n')}\n\n${proof.checkpoint}`
}

/** Parses the text form, except for the checkpoint in it. Throws ProofError `malformed_proof`. */
export function parseTlogProof(text: string): TlogProof {
  const divide = text.indexOf('\n\n')
  if (divide < 0) throw malformedProof('no blank line before the checkpoint')
  const checkpoint = text.slice(divide + 2)
  if (!checkpoint.endsWith('\n')) throw malformedProof('the checkpoint has no final newline')
  const lines = text.slice(0, divide).split('\n')
  if (lines.shift() !== HEADER) throw malformedProof(`the first line is not ${HEADER}`)
  const extra = lines[0]?.startsWith('extra ') ? decodeBase64(lines.shift()?.slice(6) ?? '') : null
  const index = parseIndex(lines.shift() ?? '')
  if (lines.length > PATH_MAX) throw malformedProof('the path is too long')
  const path = lines.map(decodeBase64)
  if (path.some((hash) => hash.length !== 32)) throw malformedProof('a hash is not 32 bytes')
  return { index, path, checkpoint, ...(extra === null ? {} : { extra }) }
}

function parseIndex(line: string): number {
  const digits = line.startsWith('index ') ? line.slice(6) : ''
  if (!DECIMAL.test(digits) || !Number.isSafeInteger(Number(digits))) throw malformedProof('index')
  return Number(digits)
}

function decodeBase64(text: string): Uint8Array {
  try {
    return fromBase64(text)
  } catch {
    throw malformedProof('not base64')
  }
}

function malformedProof(what: string): ProofError {
  return new ProofError('malformed_proof', what)
}
