// Reads and writes DER (X.690), as much of it as timestamps need. What is not DER is refused: one
// value has one spelling, so that bytes which were signed are the bytes that are stored.

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  octets: 0x04,
  null: 0x05,
  oid: 0x06,
  time: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** A constructed element of a number that its place gives a meaning. */
export const context = (number: number): number => 0xa0 | number

interface DerElement {
  readonly tag: number
  readonly content: Buffer
  /** Tag, length and content. */
  readonly whole: Buffer
}

export class DerError extends Error {
  override readonly name = 'DerError'
}

/** More elements than this in one other are of no timestamp. */
const ELEMENTS_MAX = 256
const LENGTH_BYTES_MAX = 3

function readElement(bytes: Buffer, start: number): DerElement {
  const tag = bytes[start]
  const short = bytes[start + 1]
  if (tag === undefined || short === undefined) throw new DerError('cut off')
  if ((tag & 0x1f) === 0x1f) throw new DerError('a tag of two bytes')
  const count = short < 0x80 ? 0 : short - 0x80
  const first = start + 2 + count
  if ((short >= 0x80 && count === 0) || count > LENGTH_BYTES_MAX || first > bytes.length)
    throw new DerError('a length that is not DER')
  const length = count === 0 ? short : bytes.readUIntBE(start + 2, count)
  // The shortest form only.
  if (count > 0 && (length < 0x80 || length < 2 ** (8 * (count - 1))))
    throw new DerError('a length that is not DER')
  const end = first + length
  if (end > bytes.length) throw new DerError('cut off')
  return { tag, content: bytes.subarray(first, end), whole: bytes.subarray(start, end) }
}

/** The elements that `bytes` are. */
function readElements(bytes: Buffer): DerElement[] {
  const elements: DerElement[] = []
  for (let start = 0; start < bytes.length; ) {
    const element = readElement(bytes, start)
    elements.push(element)
    if (elements.length > ELEMENTS_MAX) throw new DerError('too many elements')
    start += element.whole.length
  }
  return elements
}

/** Elements taken one after another; what is not taken at the end is an error. */
export class DerSequence {
  readonly #elements: readonly DerElement[]
  #next = 0

  /** Throws DerError: `bytes` are not a row of elements. */
  constructor(bytes: Buffer) {
    this.#elements = readElements(bytes)
  }

  /** The elements of one sequence, which is all that the bytes are. */
  static of(bytes: Buffer): DerSequence {
    const outer = new DerSequence(bytes)
    const sequence = outer.sequence()
    outer.end()
    return sequence
  }

  take(tag: number): DerElement {
    const element = this.optional(tag)
    if (element === undefined) throw new DerError('another element was expected')
    return element
  }

  optional(tag: number): DerElement | undefined {
    const element = this.#elements[this.#next]
    if (element?.tag !== tag) return undefined
    this.#next += 1
    return element
  }

  sequence(tag: number = TAG.sequence): DerSequence {
    return new DerSequence(this.take(tag).content)
  }

  oid(): string {
    return this.take(TAG.oid).content.toString('hex')
  }

  octets(): Buffer {
    return this.take(TAG.octets).content
  }

  /** All elements that are left. */
  rest(): readonly DerElement[] {
    const left = this.#elements.slice(this.#next)
    this.#next = this.#elements.length
    return left
  }

  get done(): boolean {
    return this.#next === this.#elements.length
  }

  end(): void {
    if (!this.done) throw new DerError('more elements than expected')
  }
}

export function derElement(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  if (content.length < 0x80) return Buffer.concat([Buffer.from([tag, content.length]), content])
  const hex = content.length.toString(16)
  const length = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), length, content])
}

/** A whole number that is not negative, as the content of an integer in the shortest form. */
export function unsignedContent(big: Uint8Array): Buffer {
  const bytes = Buffer.from(big)
  const first = bytes.findIndex((byte) => byte !== 0)
  const digits = first === -1 ? Buffer.from([0]) : bytes.subarray(first)
  return (digits[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits
}
