// Parses the objects of a JSON text incrementally, so that files of any size fit into memory. They
// are consecutive values, the elements of an array, or the elements of an array in an object.

/** An unparsed object of the file, and the line where it begins. */
interface JsonPiece {
  readonly text: string
  /** Line number from 1. */
  readonly line: number
}

/** The text is not JSON, or does not consist of objects. */
export class MalformedJson extends Error {
  readonly line: number

  constructor(line: number, why: string) {
    super(why)
    this.line = line
  }
}

/** Longer than any record of another system. */
const PIECE_CHARACTERS_MAX = 64 * 1024 * 1024
const NAME_CHARACTERS_MAX = 64

/**
 * Yields the objects of the text. For a top-level object with an array under one of the `members`
 * it yields the elements of that array. Throws MalformedJson.
 */
export async function* readJsonPieces(
  chunks: AsyncIterable<string>,
  members: readonly string[] = [],
): AsyncGenerator<JsonPiece> {
  const scanner = new PieceScanner(members)
  for await (const chunk of chunks) yield* scanner.add(chunk)
  scanner.end()
}

/** Parses an object. Throws MalformedJson with the line where it begins. */
export function parsePiece({ text, line }: JsonPiece): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text)
  } catch {
    throw new MalformedJson(line, 'not valid JSON')
  }
}

class PieceScanner {
  readonly #members: readonly string[]
  #text = ''
  /** The read position, and the start of the current object (-1 between objects). */
  #at = 0
  #start = -1
  #line = 1
  #startLine = 1
  #depth = 0
  /** Depth at which objects begin: 0, 1 in an array, 2 in a member's array; -1 if none follows. */
  #base = 0
  #string = -1
  #escaped = false
  /** The last string in a top-level object, which is the name of the value that follows. */
  #name = ''

  constructor(members: readonly string[]) {
    this.#members = members
  }

  *add(chunk: string): Generator<JsonPiece> {
    this.#text += chunk
    for (; this.#at < this.#text.length; this.#at += 1) {
      const code = this.#text.charCodeAt(this.#at)
      if (code === 0x0a) this.#line += 1
      if (this.#string >= 0) this.#readString(code)
      else if (code === 0x22) this.#beginString()
      else if (code === 0x7b || code === 0x5b) this.#open(code === 0x5b)
      else if (code === 0x7d || code === 0x5d) {
        const piece = this.#close()
        if (piece) yield piece
      } else this.#assertBetween(code)
    }
    this.#forget()
  }

  end(): void {
    if (this.#depth > 0 || this.#string >= 0)
      throw new MalformedJson(this.#start < 0 ? this.#line : this.#startLine, 'it ends too early')
  }

  #readString(code: number): void {
    if (this.#escaped) this.#escaped = false
    else if (code === 0x5c) this.#escaped = true
    else if (code === 0x0a)
      throw new MalformedJson(this.#line - 1, 'not valid JSON: a text has no end')
    else if (code === 0x22) {
      const length = this.#at - this.#string
      if (this.#depth === 1 && length <= NAME_CHARACTERS_MAX)
        this.#name = this.#text.slice(this.#string + 1, this.#at)
      this.#string = -1
    }
  }

  #beginString(): void {
    if (this.#start < 0 && this.#depth === this.#base) this.#refuse()
    this.#string = this.#at
  }

  #open(isArray: boolean): void {
    const between = this.#start < 0 && this.#depth === this.#base
    if (between && isArray) {
      if (this.#base > 0) this.#refuse()
      this.#base = 1
    } else if (between) {
      this.#start = this.#at
      this.#startLine = this.#line
    } else if (isArray && this.#isMember()) {
      this.#start = -1
      this.#base = 2
    }
    this.#depth += 1
  }

  /** Whether the array that begins here is one of the `members`. */
  #isMember(): boolean {
    return this.#base === 0 && this.#depth === 1 && this.#members.includes(this.#name)
  }

  #close(): JsonPiece | null {
    this.#depth -= 1
    if (this.#depth < 0) throw new MalformedJson(this.#line, 'not valid JSON')
    if (this.#start >= 0 && this.#depth === this.#base) {
      const text = this.#text.slice(this.#start, this.#at + 1)
      this.#start = -1
      return { text, line: this.#startLine }
    }
    // The rest of a top-level object after its array is skipped.
    if (this.#base === 2 && this.#depth === 1) this.#base = -1
    else if (this.#depth === 0) this.#base = 0
    return null
  }

  #assertBetween(code: number): void {
    if (this.#start >= 0 || this.#depth !== this.#base) return
    const isSpace = code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
    if (!isSpace && code !== 0x2c && code !== 0xfeff) this.#refuse()
  }

  #refuse(): never {
    throw new MalformedJson(this.#line, 'not a JSON object')
  }

  /** Drops the text that has been read, except for the current object or string. */
  #forget(): void {
    const kept = this.#start >= 0 ? this.#start : this.#string >= 0 ? this.#string : this.#at
    if (this.#at - kept > PIECE_CHARACTERS_MAX)
      throw new MalformedJson(this.#startLine, 'a record of more than 64 million characters')
    this.#text = this.#text.slice(kept)
    this.#at -= kept
    if (this.#start >= 0) this.#start -= kept
    if (this.#string >= 0) this.#string -= kept
  }
}
