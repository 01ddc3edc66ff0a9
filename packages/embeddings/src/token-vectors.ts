// The vectors of tokens and their sums, computed by a small WebAssembly module with SIMD or by
// plain code. Integer sums within 32 bits do not depend on order, so both give the same result.

import { SUMS_MODULE } from './generated/wasm-modules.ts'

/** The reference implementation in plain code. */
export class PlainTokenVectors {
  readonly #factors: Uint8Array
  readonly #vectors: Int8Array
  readonly #sums: Int32Array

  /** `factors` are by token; `vectors` has the vectors of all tokens, concatenated in order. */
  constructor(dimensions: number, factors: Uint8Array, vectors: Int8Array) {
    this.#factors = factors
    this.#vectors = vectors
    this.#sums = new Int32Array(dimensions)
  }

  /**
   * Calls `use` with the sum of the tokens' vectors, each times its factor. The sum is wiped
   * afterwards, so that nothing of a text remains.
   */
  withSum<T>(tokens: readonly number[], use: (sums: Int32Array) => T): T {
    const [factors, vectors, sums] = [this.#factors, this.#vectors, this.#sums]
    for (const token of tokens) {
      const [factor, from] = [factors[token] ?? 0, token * sums.length]
      for (let at = 0; at < sums.length; at += 1)
        sums[at] = (sums[at] ?? 0) + Math.imul(factor, vectors[from + at] ?? 0)
    }
    const result = use(sums)
    sums.fill(0)
    return result
  }

  /** A view of the vector of a token. */
  vectorOf(token: number): Int8Array {
    const { length } = this.#sums
    return this.#vectors.subarray(token * length, (token + 1) * length)
  }
}

/** The used part of the JavaScript interface, and the parameters in `sums.wat`. */
declare namespace WebAssembly {
  class Memory {
    constructor(descriptor: { initial: number })
    readonly buffer: ArrayBuffer
  }
  class Module {
    constructor(bytes: Uint8Array)
  }
  class Instance {
    constructor(module: Module, imports: { m: { m: Memory } })
    readonly exports: { add(tokens: number, end: number, sums: number, dimensions: number): void }
  }
  function validate(bytes: Uint8Array): boolean
}

/** Number of dimensions that the module adds at a time. */
const STEP = 16
const PAGE_BYTES = 0x10000
/** Number of tokens in one call. Each has an address and a factor, 32 bits each. */
const TOKENS_AT_ONCE = 256
const TOKEN_NUMBERS = 2

/** Copies the vectors to WebAssembly memory: sums, then the tokens of a call, then vectors. */
export class SimdTokenVectors {
  readonly #factors: Uint8Array
  readonly #sums: Int32Array
  readonly #tokens: Int32Array
  readonly #vectors: Int8Array
  readonly #module: WebAssembly.Instance['exports']

  /** `dimensions` must be a multiple of 16. */
  constructor(dimensions: number, factors: Uint8Array, vectors: Int8Array) {
    const tokensAt = dimensions * Int32Array.BYTES_PER_ELEMENT
    const tokens = TOKENS_AT_ONCE * TOKEN_NUMBERS
    const vectorsAt = tokensAt + tokens * Int32Array.BYTES_PER_ELEMENT
    const initial = Math.ceil((vectorsAt + vectors.length) / PAGE_BYTES)
    const memory = new WebAssembly.Memory({ initial })
    const module = new WebAssembly.Module(SUMS_MODULE)
    this.#module = new WebAssembly.Instance(module, { m: { m: memory } }).exports
    // Copied, so that the buffer that it is a part of can be freed.
    this.#factors = factors.slice()
    this.#sums = new Int32Array(memory.buffer, 0, dimensions)
    this.#tokens = new Int32Array(memory.buffer, tokensAt, tokens)
    this.#vectors = new Int8Array(memory.buffer, vectorsAt, vectors.length)
    this.#vectors.set(vectors)
  }

  withSum<T>(tokens: readonly number[], use: (sums: Int32Array) => T): T {
    for (let at = 0; at < tokens.length; at += TOKENS_AT_ONCE)
      this.#addSome(tokens, at, Math.min(tokens.length, at + TOKENS_AT_ONCE))
    this.#tokens.fill(0, 0, tokens.length * TOKEN_NUMBERS)
    const result = use(this.#sums)
    this.#sums.fill(0)
    return result
  }

  vectorOf(token: number): Int8Array {
    return this.#vectors.subarray(token * this.#sums.length, (token + 1) * this.#sums.length)
  }

  #addSome(tokens: readonly number[], from: number, to: number): void {
    const [list, vectorsAt] = [this.#tokens, this.#vectors.byteOffset]
    let used = 0
    for (let at = from; at < to; at += 1) {
      const token = tokens[at] ?? 0
      list[used] = vectorsAt + token * this.#sums.length
      list[used + 1] = this.#factors[token] ?? 0
      used += TOKEN_NUMBERS
    }
    const end = list.byteOffset + used * list.BYTES_PER_ELEMENT
    this.#module.add(list.byteOffset, end, this.#sums.byteOffset, this.#sums.length)
  }
}

/** Uses the WebAssembly module if the machine has SIMD, otherwise the plain code. */
export function makeTokenVectors(dimensions: number, factors: Uint8Array, vectors: Int8Array) {
  const simd = dimensions % STEP === 0 && WebAssembly.validate(SUMS_MODULE)
  return new (simd ? SimdTokenVectors : PlainTokenVectors)(dimensions, factors, vectors)
}
