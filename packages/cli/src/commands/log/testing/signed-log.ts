// For tests: a log of numbered leaves that signs any tree it is told to, also one that it must not.

import {
  assembleNote,
  consistencyPath,
  formatAddCheckpoint,
  formatCheckpointBody,
  leafHash,
  nodeHash,
  noteKeyHash,
  rootAt,
  utf8,
} from '@custos/proof'
import { seededKey } from '../../../../../proof/src/testing/fixtures.ts'

export const LOG_KEY = seededKey(0x51)

/** Leaves from `fork_at` on differ from those of another history. */
interface History {
  readonly fork_at: number
  readonly name: string
}

const leafText = (index: number, { fork_at, name }: History): string =>
  index < fork_at ? String(index) : `${name} ${index}`

export class SignedLog {
  readonly origin: string
  readonly #history: History
  readonly #nodes = new Map<string, Uint8Array>()

  constructor(origin: string, history: History = { fork_at: Infinity, name: '' }) {
    this.origin = origin
    this.#history = history
  }

  readonly #nodeAt = (height: number, index: number): Uint8Array => {
    const name = `${height}/${index}`
    const known = this.#nodes.get(name)
    if (known) return known
    const node =
      height === 0
        ? leafHash(utf8(leafText(index, this.#history)))
        : nodeHash(this.#nodeAt(height - 1, 2 * index), this.#nodeAt(height - 1, 2 * index + 1))
    this.#nodes.set(name, node)
    return node
  }

  async checkpoint(size: number, key = LOG_KEY): Promise<string> {
    const { origin } = this
    const root = await rootAt(size, this.#nodeAt)
    const body = formatCheckpointBody({ origin, size, root })
    const keyHash = noteKeyHash(origin, key.publicKey)
    return assembleNote(body, [{ name: origin, keyHash, signature: key.sign(utf8(body)) }])
  }

  /** The body of add-checkpoint with the proof of this history. */
  async request(oldSize: number, size: number): Promise<string> {
    const path = await consistencyPath(oldSize, size, this.#nodeAt)
    return formatAddCheckpoint({ oldSize, path, checkpoint: await this.checkpoint(size) })
  }
}
