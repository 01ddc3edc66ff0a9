// Saves an index in pieces and loads an index from them.

import { endianness } from 'node:os'
import type { Language } from '@custos/contract'
import type { StoreRow } from '../stores/stores.sql.ts'
import { makeAnalyser } from '../text/analysis.ts'
import { PIECE, PieceReader, PieceWriter } from './columns/pieces.ts'
import { StoreIndex } from './store-index.ts'

/** Version of the piece format. Increase it with every change of the pieces. */
const FORMAT = 2
/** Version of what is derived from a fact. Increase it with every change; a test notices most. */
export const ANALYSIS = 1

/** Thrown if the pieces are of another version or another store. */
export class OtherIndex extends Error {
  constructor() {
    super('a saved index of another version or another store')
    this.name = 'OtherIndex'
  }
}

/**
 * What an index depends on besides its facts. Another store under the same id has another secret.
 * Letters and their order follow the Unicode tables of the runtime.
 */
export function originOf(
  { secret_no, tokenizer }: Pick<StoreRow, 'secret_no' | 'tokenizer'>,
  languages: readonly Language[],
): string {
  const { unicode, icu } = process.versions
  const store = [secret_no, tokenizer, languages]
  return JSON.stringify([FORMAT, ANALYSIS, unicode, icu, endianness(), ...store])
}

/**
 * The first piece. `head_seq` is the log position from which the loaded index must catch up;
 * `entry` is the hash of the log entry there, which a restored log may lack.
 */
const makeHead = (index: StoreIndex, at: { origin: string; head_seq: number; entry: string }) => ({
  ...at,
  space: index.space,
  fingerprint_key: Buffer.from(index.fingerprintKey).toString('hex'),
})

/**
 * See `StoreIndex.save`. The index must be at the position or later. Wipes the pieces from memory
 * at the end.
 */
export function* saveIndex(
  index: StoreIndex,
  at: Parameters<typeof makeHead>[1],
): Generator<Buffer, boolean> {
  const head = makeHead(index, at)
  const writer = new PieceWriter()
  const pieces = index.save(writer)
  try {
    writer.byte(PIECE.head)
    writer.text(JSON.stringify(head))
    yield writer.take()
    return yield* pieces
  } finally {
    writer.wipe()
  }
}

/**
 * The last piece: the log position of the index at the end of the save. The pieces can contain
 * changes up to there, so they do not belong to a log without this entry.
 */
export function makeTail(at: LogPosition): Buffer {
  const writer = new PieceWriter()
  writer.byte(PIECE.tail)
  writer.text(JSON.stringify(at))
  return writer.take()
}

interface LogPosition {
  readonly head_seq: number
  /** Hash of the log entry at that position, lower-case hex. */
  readonly entry: string
}

/** Loads the pieces of `saveIndex` one by one. */
export class IndexLoader {
  readonly #origin: string
  readonly #languages: readonly Language[]
  #head: ReturnType<typeof makeHead> | null = null
  #index: StoreIndex | null = null
  #tail: LogPosition | null = null

  constructor(origin: string, languages: readonly Language[]) {
    this.#origin = origin
    this.#languages = languages
  }

  /** Set once the first piece is loaded. */
  get head(): ReturnType<typeof makeHead> | null {
    return this.#head
  }

  /** Set once the last piece is loaded. */
  get tail(): LogPosition | null {
    return this.#tail
  }

  /** Throws OtherIndex, or RangeError if the pieces do not form an index. */
  load(piece: Buffer): void {
    if (this.#tail !== null) throw new RangeError('a piece after the last one')
    if (piece[0] === PIECE.tail) this.#end(new PieceReader(piece))
    else if (this.#index !== null) this.#index.load(piece)
    else this.#begin(new PieceReader(piece))
  }

  /** Returns the index at its saved position. Throws RangeError if facts are missing. */
  finish(): StoreIndex {
    if (this.#index === null || this.#head === null) throw new RangeError('nothing was loaded')
    this.#index.finishLoad(this.#head.space)
    this.#index.head_seq = this.#head.head_seq
    return this.#index
  }

  #end(reader: PieceReader): void {
    reader.byte()
    this.#tail = JSON.parse(reader.text())
  }

  #begin(reader: PieceReader): void {
    if (reader.byte() !== PIECE.head) throw new RangeError('a saved index without a head')
    const head: ReturnType<typeof makeHead> = JSON.parse(reader.text())
    if (head.origin !== this.#origin) throw new OtherIndex()
    this.#head = head
    const key = Buffer.from(head.fingerprint_key, 'hex')
    this.#index = new StoreIndex(key, makeAnalyser(this.#languages))
  }
}
