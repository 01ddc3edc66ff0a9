// How a witness decides about one add-checkpoint request (C2SP tlog-witness).

import {
  assembleNote,
  type Checkpoint,
  cosignCheckpoint,
  emptyRoot,
  equalBytes,
  parseAddCheckpoint,
  parseCheckpoint,
  verifyCheckpoint,
  verifyConsistency,
} from '@custos/proof'
import type { WitnessJournal } from './witness-journal.ts'

/** Logs that a witness follows: one by its origin, or all whose origins have a prefix. */
export interface WitnessedLogs {
  readonly origin?: string
  readonly origin_prefix?: string
  readonly keys: readonly Uint8Array[]
}

export interface WitnessReply {
  readonly status: number
  readonly body: string
  readonly type?: string
  /**
   * The sent checkpoint and the last cosigned one, for the operator of the witness. `evidence`: one
   * size with two roots. `unproven`: the proof between them does not verify.
   */
  readonly contradiction?: { readonly kind: 'evidence' | 'unproven'; readonly checkpoints: string }
}

interface WitnessParts {
  readonly name: string
  readonly public_key: Uint8Array
  readonly logs: readonly WitnessedLogs[]
  readonly journal: WitnessJournal
  /** The time in seconds since 1970. */
  now_s(): number
  sign(message: Uint8Array): Uint8Array
}

const SIZE_TYPE = 'text/x.tlog.size'

export class Witness {
  readonly #parts: WitnessParts

  constructor(parts: WitnessParts) {
    this.#parts = parts
  }

  /** Never throws for input of a log. Throws if the state could not be made durable. */
  async addCheckpoint(text: string): Promise<WitnessReply> {
    let request: ReturnType<typeof parseAddCheckpoint>
    let checkpoint: Checkpoint
    try {
      request = parseAddCheckpoint(text)
      checkpoint = parseCheckpoint(request.checkpoint)
    } catch (error) {
      return refusal(400, error instanceof Error ? error.message : 'malformed')
    }
    const { origin } = checkpoint
    const { logs } = this.#parts
    // For a log that is named by its origin, only its own keys count.
    const own = logs.filter((log) => log.origin === origin)
    const covering = own.length > 0 ? own : logs.filter((log) => covers(log, origin))
    const keys = covering.flatMap((log) => log.keys)
    if (keys.length === 0) return refusal(404, 'unknown log')
    if (!(await isSigned(request.checkpoint, keys))) return refusal(403, 'no trusted signature')
    // Synchronous from here on, so that two requests about one log are decided one after the other.
    return this.#decide(request, checkpoint)
  }

  #decide(request: ReturnType<typeof parseAddCheckpoint>, checkpoint: Checkpoint): WitnessReply {
    const { oldSize, checkpoint: note } = request
    const { origin, size, root, body } = checkpoint
    const last = this.#parts.journal.find(origin)
    const known = last?.size ?? 0
    if (oldSize > size) return refusal(400, 'the old size is larger than the checkpoint')
    const checkpoints = `${note}${last?.checkpoint ?? ''}`
    if (last && size === known && !equalBytes(root, last.root))
      return { ...sizeReply(known), contradiction: { kind: 'evidence', checkpoints } }
    if (oldSize !== known) return sizeReply(known)
    // This is no evidence: anybody can send a checkpoint of the log with a wrong proof.
    if (!extendsTree(checkpoint, request, last?.root)) {
      const refused = refusal(422, 'the proof does not verify')
      return last ? { ...refused, contradiction: { kind: 'unproven', checkpoints } } : refused
    }
    const { name, public_key: publicKey, journal, now_s, sign } = this.#parts
    if (!last || size > known) journal.append(note)
    const line = cosignCheckpoint(body, { name, publicKey, timestamp: now_s(), sign })
    return { status: 200, body: assembleNote('-\n', [line]).slice(3) }
  }
}

const covers = ({ origin, origin_prefix }: WitnessedLogs, name: string): boolean =>
  origin === name || (origin_prefix !== undefined && name.startsWith(origin_prefix))

async function isSigned(note: string, keys: readonly Uint8Array[]): Promise<boolean> {
  const verdicts = await Promise.all(keys.map((publicKey) => verifyCheckpoint(note, { publicKey })))
  return verdicts.some(({ ok }) => ok)
}

function extendsTree(
  { size, root }: Checkpoint,
  { oldSize, path }: ReturnType<typeof parseAddCheckpoint>,
  oldRoot: Uint8Array | undefined,
): boolean {
  // Every tree extends the empty one, and only an empty proof says so.
  if (oldSize === 0) return path.length === 0 && (size > 0 || equalBytes(root, emptyRoot()))
  if (oldRoot === undefined) return false
  return verifyConsistency({ from: oldSize, fromRoot: oldRoot, to: size, toRoot: root, path })
}

const refusal = (status: number, why: string): WitnessReply => ({ status, body: `${why}\n` })

const sizeReply = (size: number): WitnessReply => ({
  status: 409,
  body: `${size}\n`,
  type: SIZE_TYPE,
})
