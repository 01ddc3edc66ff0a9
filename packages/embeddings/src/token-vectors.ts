// The vectors of tokens, and sums of them: with SIMD, by a small WebAssembly module, or in plain
// code. Sums of integers within 32 bits do not depend on their order, so both give the same.

import { SUMS_MODULE } from './generated/wasm-modules.ts'

/** In plain code, which says what the sums are. */
export class PlainTokenVectors {
  readonly #factors: Uint8Array
  readonly #vectors: Int8Array
  readonly #sums: Int32Array

  /** Factors by token; vectors one behind the other, in the order of tokens. */
  constructor(dimensions: number, factors: Uint8Array, vectors: Int8Array) {
    this.#factors = factors
    this.#vectors = vectors
    this.#sums = new Int32Array(dimensions)
  }

  /**
   * Calls `use` with the sum of the tokens' vectors, each times its factor. The sum is wiped
   * afterwards: nothing of a text stays here.
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

/** What is used here of the JavaScript interface, and the parameters in `sums.wat`. */
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

/** Dimensions that the module adds at a time. */
const STEP = 16
const PAGE_BYTES = 0x10000
/** Tokens of one call: address and factor, 32 bits each. */
const TOKENS_AT_ONCE = 256
const TOKEN_NUMBERS = 2

/** Keeps a copy of the vectors in its own memory: sums, then tokens of a call, then vectors. */
export class SimdTokenVectors {
  readonly #factors: Uint8Array
  readonly #sums: Int32Array
  readonly #tokens: Int32Array
  readonly #vectors: Int8Array
  readonly #module: WebAssembly.Instance['exports']

  /** The number of dimensions is a multiple of 16. */
  constructor(dimensions: number, factors: Uint8Array, vectors: Int8Array) {
    const tokensAt = dimensions * Int32Array.BYTES_PER_ELEMENT
    const tokens = TOKENS_AT_ONCE * TOKEN_NUMBERS
    const vectorsAt = tokensAt + tokens * Int32Array.BYTES_PER_ELEMENT
    const initial = Math.ceil((vectorsAt + vectors.length) / PAGE_BYTES)
    const memory = new WebAssembly.Memory({ initial })
    const module = new WebAssembly.Module(SUMS_MODULE)
    this.#module = new WebAssembly.Instance(module, { m: { m: memory } }).exports
    // A copy: the buffer that it is a part of is freed.
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

/** With the WebAssembly module where the machine has SIMD, else the plain code. */
export function makeTokenVectors(dimensions: number, factors: Uint8Array, vectors: Int8Array) {
  const simd = dimensions % STEP === 0 && WebAssembly.validate(SUMS_MODULE)
  return new (simd ? SimdTokenVectors : PlainTokenVectors)(dimensions, factors, vectors)
}
