// Requests from logs to witnesses: the body of add-checkpoint (c2sp.org/tlog-witness).
import { fromBase64, toBase64 } from '../core/encoding.ts'
import { ProofError } from '../core/errors.ts'

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
