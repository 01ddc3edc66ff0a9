// Reads and writes the part of DER (X.690) that timestamps need. Refuses anything that is not DER:
// each value has only one encoding, so that the signed bytes are the stored bytes.

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

/** The tag of a constructed, context-specific element. */
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

/** No timestamp has an element with more elements than this. */
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
  // DER allows only the shortest form.
  if (count > 0 && (length < 0x80 || length < 2 ** (8 * (count - 1))))
    throw new DerError('a length that is not DER')
  const end = first + length
  if (end > bytes.length) throw new DerError('cut off')
  return { tag, content: bytes.subarray(first, end), whole: bytes.subarray(start, end) }
}

/** Splits `bytes` into elements. */
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

/** Reads elements one after another; elements left at the end are an error. */
export class DerSequence {
  readonly #elements: readonly DerElement[]
  #next = 0

  /** Throws DerError if `bytes` are not a series of elements. */
  constructor(bytes: Buffer) {
    this.#elements = readElements(bytes)
  }

  /** The elements of one sequence, which must be all of `bytes`. */
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

  /** All remaining elements. */
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

/** Encodes a non-negative integer as the content of an INTEGER, in the shortest form. */
export function unsignedContent(big: Uint8Array): Buffer {
  const bytes = Buffer.from(big)
  const first = bytes.findIndex((byte) => byte !== 0)
  const digits = first === -1 ? Buffer.from([0]) : bytes.subarray(first)
  return (digits[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits
}
