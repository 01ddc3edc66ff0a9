// Reads and writes pieces of a saved index: numbers, texts and arrays in sequence. Arrays are
// copied byte by byte; a saved index states its byte order.

import type { NumberArray } from './typed-arrays.ts'

/** Kinds of pieces. The first byte of a piece is its kind. */
export const PIECE = {
  head: 1,
  partition: 2,
  slots: 3,
  sessions: 4,
  vectors: 5,
  terms: 6,
  slotTerms: 7,
  aliases: 8,
  tail: 9,
} as const

/** A piece is complete at this length; its last record may exceed it. */
const PIECE_BYTES = 256 * 1024

const WIDE = /[\u0100-\uffff]/

/** Writes one piece after another into the same buffer. */
export class PieceWriter {
  #bytes = Buffer.alloc(PIECE_BYTES * 2)
  #used = 0

  get isFull(): boolean {
    return this.#used >= PIECE_BYTES
  }

  /** Bytes left until the piece is full, at least 0. */
  get room(): number {
    return Math.max(0, PIECE_BYTES - this.#used)
  }

  /** Returns the finished piece, which is valid until the next write. */
  take(): Buffer {
    const piece = this.#bytes.subarray(0, this.#used)
    this.#used = 0
    return piece
  }

  byte(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#used++] = value
  }

  number(value: number): void {
    this.#reserve(4)
    this.#used = this.#bytes.writeUInt32LE(value, this.#used)
  }

  text(text: string): void {
    const wide = WIDE.test(text)
    const bytes = wide ? text.length * 2 : text.length
    this.number(bytes * 2 + (wide ? 1 : 0))
    this.#reserve(bytes)
    this.#used += this.#bytes.write(text, this.#used, wide ? 'utf16le' : 'latin1')
  }

  /** Writes entries `from` to `to` - 1; entries beyond the end of the array are zeros. */
  array(array: NumberArray, from: number, to: number): void {
    const size = array.BYTES_PER_ELEMENT
    const bytes = (to - from) * size
    this.#reserve(bytes)
    const start = Math.min(from, array.length)
    const known = (Math.min(to, array.length) - start) * size
    const source = new Uint8Array(array.buffer, array.byteOffset + start * size, known)
    this.#bytes.set(source, this.#used)
    this.#bytes.fill(0, this.#used + known, this.#used + bytes)
    this.#used += bytes
  }

  /** Wipes the pieces from memory. */
  wipe(): void {
    this.#bytes.fill(0)
  }

  #reserve(bytes: number): void {
    if (this.#used + bytes <= this.#bytes.length) return
    const longer = Buffer.alloc(Math.max(this.#bytes.length * 2, this.#used + bytes))
    longer.set(this.#bytes)
    this.#bytes.fill(0)
    this.#bytes = longer
  }
}

/** Reads what a PieceWriter wrote; throws RangeError if a piece is too short. */
export class PieceReader {
  readonly #bytes: Buffer
  #read = 0

  constructor(piece: Buffer) {
    this.#bytes = piece
  }

  get isAtEnd(): boolean {
    return this.#read === this.#bytes.length
  }

  byte(): number {
    const value = this.#bytes.readUInt8(this.#read)
    this.#read += 1
    return value
  }

  number(): number {
    const value = this.#bytes.readUInt32LE(this.#read)
    this.#read += 4
    return value
  }

  text(): string {
    const length = this.number()
    const bytes = this.#take(length >>> 1)
    return bytes.toString(length % 2 === 1 ? 'utf16le' : 'latin1')
  }

  /** Reads into entries `from` to `to` - 1. */
  array(array: NumberArray, from: number, to: number): void {
    const size = array.BYTES_PER_ELEMENT
    if (to > array.length) throw new RangeError('a piece is larger than its array')
    const target = new Uint8Array(array.buffer, array.byteOffset + from * size, (to - from) * size)
    target.set(this.#take(target.length))
  }

  #take(bytes: number): Buffer {
    const end = this.#read + bytes
    if (end > this.#bytes.length) throw new RangeError('a piece is shorter than what it holds')
    const taken = this.#bytes.subarray(this.#read, end)
    this.#read = end
    return taken
  }
}

/** Writes pieces of one kind, each with its first record's number and records until it is full. */
export function* writeInPieces(
  writer: PieceWriter,
  kind: number,
  records: number,
  write: (record: number) => void,
): Generator<Buffer> {
  for (let record = 0; record < records; ) {
    writer.byte(kind)
    writer.number(record)
    while (record < records && !writer.isFull) write(record++)
    yield writer.take()
  }
}
