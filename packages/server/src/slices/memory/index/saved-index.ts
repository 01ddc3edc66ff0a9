// A copy of an index in pieces, and the index that is loaded from them.

import { endianness } from 'node:os'
import type { Language } from '@custos/contract'
import type { StoreRow } from '../stores/stores.sql.ts'
import { makeAnalyser } from '../text/analysis.ts'
import { PIECE, PieceReader, PieceWriter } from './columns/pieces.ts'
import { StoreIndex } from './store-index.ts'

/** Raised by every change of the pieces. */
const FORMAT = 2
/** Raised by every change of what is derived from a fact; a test notices most of them. */
export const ANALYSIS = 1

/** The pieces are of another version or another store. */
export class OtherIndex extends Error {
  constructor() {
    super('a saved index of another version or another store')
    this.name = 'OtherIndex'
  }
}

/**
 * What an index depends on beside its facts. Another store under the same id has another secret;
 * letters and their order are those of the runtime's Unicode tables.
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
 * The first piece: `head_seq` is the log position from which the loaded index must be brought up to
 * date, `entry` the hash of the log entry there, which a restored log may not have.
 */
const makeHead = (index: StoreIndex, at: { origin: string; head_seq: number; entry: string }) => ({
  ...at,
  space: index.space,
  fingerprint_key: Buffer.from(index.fingerprintKey).toString('hex'),
})

/**
 * See `StoreIndex.save`: the index must be at the position or later. Nothing of the pieces is left
 * in memory at the end.
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
 * The last piece: the log position that the index was at when the save ended. Changes up to there
 * can be in the pieces, so that a log without this entry is not the one they are of.
 */
export function makeTail(at: LogPosition): Buffer {
  const writer = new PieceWriter()
  writer.byte(PIECE.tail)
  writer.text(JSON.stringify(at))
  return writer.take()
}

interface LogPosition {
  readonly head_seq: number
  /** Hash of the log entry there, lower hex. */
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

  /** Known once the first piece is loaded. */
  get head(): ReturnType<typeof makeHead> | null {
    return this.#head
  }

  /** Known once the last piece is loaded. */
  get tail(): LogPosition | null {
    return this.#tail
  }

  /** Throws OtherIndex, or RangeError where the pieces are not those of an index. */
  load(piece: Buffer): void {
    if (this.#tail !== null) throw new RangeError('a piece after the last one')
    if (piece[0] === PIECE.tail) this.#end(new PieceReader(piece))
    else if (this.#index !== null) this.#index.load(piece)
    else this.#begin(new PieceReader(piece))
  }

  /** The index at the position it was saved at. Throws RangeError when facts are missing. */
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
