// Dot products of int8 vectors: a small WebAssembly module with SIMD, and the same in plain code.
//
// The module, as text; `assemble` below gives its bytes, so that no compiler is needed:
//
//   (module
//     (import "m" "m" (memory 1))
//     (func (export "dots")
//       (param $vector i32) (param $end i32)     ;; addresses: the first vector, behind the last
//       (param $query i32) (param $query_end i32) ;; the query, widened to int16
//       (param $out i32)                          ;; one i32 for each vector
//       (local $low v128) (local $high v128) (local $part i32)
//       (block $done
//         (loop $vectors
//           (br_if $done (i32.ge_u (local.get $vector) (local.get $end)))
//           (local.set $low (i32x4.splat (i32.const 0)))
//           (local.set $high (i32x4.splat (i32.const 0)))
//           (local.set $part (local.get $query))
//           (loop $parts ;; 16 dimensions at a time
//             (local.set $low (i32x4.add
//               (i32x4.dot_i16x8_s (v128.load8x8_s (local.get $vector))
//                                  (v128.load (local.get $part)))
//               (local.get $low)))
//             (local.set $high (i32x4.add
//               (i32x4.dot_i16x8_s (v128.load8x8_s offset=8 (local.get $vector))
//                                  (v128.load offset=16 (local.get $part)))
//               (local.get $high)))
//             (local.set $vector (i32.add (local.get $vector) (i32.const 16)))
//             (br_if $parts (i32.lt_u
//               (local.tee $part (i32.add (local.get $part) (i32.const 32)))
//               (local.get $query_end))))
//           (local.set $low (i32x4.add (local.get $low) (local.get $high)))
//           (i32.store (local.get $out) (i32.add (i32.add (i32.add
//             (i32x4.extract_lane 0 (local.get $low)) (i32x4.extract_lane 1 (local.get $low)))
//             (i32x4.extract_lane 2 (local.get $low))) (i32x4.extract_lane 3 (local.get $low))))
//           (local.set $out (i32.add (local.get $out) (i32.const 4)))
//           (br $vectors)))))
//
// Sums of integers that stay within 32 bits do not depend on their order: both ways give the same.

/** Vectors are laid out in whole steps of this many dimensions, the last filled up with zeros. */
export const STEP = 16
const PAGE_BYTES = 0x10000

export interface DotProducts {
  /**
   * Into `out` from `at` on, for each vector of `block`, one behind the other and each as long as
   * `query`, a whole number of STEPs: its dot product with `query`.
   */
  run(block: Int8Array, query: Int8Array, out: Int32Array, at: number): void
  /** Clears copies that `run` has made: what an erasure destroys must not stay behind here. */
  wipe(): void
}

/** The four sums side by side do not wait for each other. */
export const plainDots: DotProducts = {
  run(block, query, out, at) {
    const count = block.length / query.length
    for (let index = 0; index < count; index++)
      out[at + index] = dotProduct(block, index * query.length, query)
  },
  wipe() {},
}

/** The dot product of `query` and what stands in `block` from `start` on. */
export function dotProduct(block: Int8Array, start: number, query: Int8Array): number {
  const whole = query.length & ~3
  let [first, second, third, fourth] = [0, 0, 0, 0]
  for (let place = 0, at = start; place < whole; place += 4, at += 4) {
    first = (first + Math.imul(block[at] ?? 0, query[place] ?? 0)) | 0
    second = (second + Math.imul(block[at + 1] ?? 0, query[place + 1] ?? 0)) | 0
    third = (third + Math.imul(block[at + 2] ?? 0, query[place + 2] ?? 0)) | 0
    fourth = (fourth + Math.imul(block[at + 3] ?? 0, query[place + 3] ?? 0)) | 0
  }
  for (let place = whole; place < query.length; place++)
    first = (first + Math.imul(block[start + place] ?? 0, query[place] ?? 0)) | 0
  return first + second + third + fourth
}

/** What is used here of the JavaScript interface; the types of Node leave it out. */
declare namespace WebAssembly {
  class Memory {
    constructor(descriptor: { initial: number })
    readonly buffer: ArrayBuffer
    grow(pages: number): number
  }
  class Module {
    constructor(bytes: Uint8Array)
  }
  class Instance {
    constructor(module: Module, imports: { m: { m: Memory } })
    readonly exports: { readonly dots: Kernel }
  }
  function validate(bytes: Uint8Array): boolean
}

/** Five addresses, in the order of the parameters above. */
type Kernel = (...addresses: readonly number[]) => void

/**
 * Copies a block into its own memory, computes there, and copies the results out. That costs as
 * much again as computing in place would, and the vectors stay in ordinary arrays, which are freed
 * when an index is dropped: a WebAssembly memory only ever grows.
 */
class SimdDots implements DotProducts {
  readonly #memory: WebAssembly.Memory
  readonly #kernel: Kernel
  #bytes = new Int8Array(0)

  constructor() {
    this.#memory = new WebAssembly.Memory({ initial: 1 })
    const module = new WebAssembly.Module(assemble())
    const { exports } = new WebAssembly.Instance(module, { m: { m: this.#memory } })
    this.#kernel = exports.dots
  }

  run(block: Int8Array, query: Int8Array, out: Int32Array, at: number): void {
    const count = block.length / query.length
    const queryBytes = query.length * 2
    const blockEnd = queryBytes + block.length
    this.#reserve(blockEnd + count * 4)
    const bytes = this.#bytes
    new Int16Array(bytes.buffer, 0, query.length).set(query)
    bytes.set(block, queryBytes)
    this.#kernel(queryBytes, blockEnd, 0, queryBytes, blockEnd)
    out.set(new Int32Array(bytes.buffer, blockEnd, count), at)
  }

  wipe(): void {
    this.#bytes.fill(0)
  }

  #reserve(bytes: number): void {
    if (this.#bytes.length >= bytes) return
    const missing = bytes - this.#memory.buffer.byteLength
    if (missing > 0) this.#memory.grow(Math.ceil(missing / PAGE_BYTES))
    this.#bytes = new Int8Array(this.#memory.buffer)
  }
}

/** The module where the machine has SIMD, plain code where it has not. */
export function makeDots(): DotProducts {
  return WebAssembly.validate(assemble()) ? new SimdDots() : plainDots
}

// WebAssembly Core Specification 2.0, section 5: binary format.
const [I32, V128, FUNCTION, EMPTY] = [0x7f, 0x7b, 0x60, 0x40]
const [BLOCK, LOOP, END, BR, BR_IF] = [0x02, 0x03, 0x0b, 0x0c, 0x0d]
const [LOCAL_GET, LOCAL_SET, LOCAL_TEE, I32_STORE, I32_CONST] = [0x20, 0x21, 0x22, 0x36, 0x41]
const [I32_GE_U, I32_LT_U, I32_ADD] = [0x4f, 0x49, 0x6a]
const SIMD = 0xfd
const V128_LOAD = [SIMD, 0x00]
const V128_LOAD8X8_S = [SIMD, 0x01]
const I32X4_SPLAT = [SIMD, 0x11]
const I32X4_EXTRACT_LANE = [SIMD, 0x1b]
const I32X4_ADD = [SIMD, 0xae, 0x01]
const I32X4_DOT_I16X8_S = [SIMD, 0xba, 0x01]
/** Any alignment is right; this is the natural one of 32 bits. */
const [ALIGN_8, ALIGN_32] = [0, 2]
const [VECTOR, VECTOR_END, QUERY, QUERY_END, OUT, LOW, HIGH, PART] = [0, 1, 2, 3, 4, 5, 6, 7]

/** Every number of the module fits into one byte of LEB128, lengths apart. */
function assemble(): Uint8Array<ArrayBuffer> {
  const body = [2, 2, V128, 1, I32, ...code()]
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, [1, FUNCTION, 5, I32, I32, I32, I32, I32, 0]),
    ...section(2, [1, ...name('m'), ...name('m'), 0x02, 0x00, 1]),
    ...section(3, [1, 0]),
    ...section(7, [1, ...name('dots'), 0x00, 0]),
    ...section(10, [1, ...length(body.length), ...body]),
  ])
}

function code(): number[] {
  const zero = (local: number) => [I32_CONST, 0, ...I32X4_SPLAT, LOCAL_SET, local]
  const lane = (index: number) => [LOCAL_GET, LOW, ...I32X4_EXTRACT_LANE, index]
  const advance = (local: number, by: number) => [LOCAL_GET, local, I32_CONST, by, I32_ADD]
  return [
    ...[BLOCK, EMPTY, LOOP, EMPTY],
    ...[LOCAL_GET, VECTOR, LOCAL_GET, VECTOR_END, I32_GE_U, BR_IF, 1],
    ...[...zero(LOW), ...zero(HIGH), LOCAL_GET, QUERY, LOCAL_SET, PART],
    ...[LOOP, EMPTY, ...addEight(0, LOW), ...addEight(8, HIGH)],
    ...[...advance(VECTOR, STEP), LOCAL_SET, VECTOR],
    ...[...advance(PART, STEP * 2), LOCAL_TEE, PART, LOCAL_GET, QUERY_END, I32_LT_U, BR_IF, 0],
    END,
    ...[LOCAL_GET, LOW, LOCAL_GET, HIGH, ...I32X4_ADD, LOCAL_SET, LOW],
    ...[LOCAL_GET, OUT, ...lane(0), ...lane(1), I32_ADD, ...lane(2), I32_ADD, ...lane(3), I32_ADD],
    ...[I32_STORE, ALIGN_32, 0, ...advance(OUT, 4), LOCAL_SET, OUT, BR, 0],
    ...[END, END, END],
  ]
}

/** Eight dimensions from `offset` on, added to `sum`. */
function addEight(offset: number, sum: number): number[] {
  return [
    ...[LOCAL_GET, VECTOR, ...V128_LOAD8X8_S, ALIGN_8, offset],
    ...[LOCAL_GET, PART, ...V128_LOAD, ALIGN_8, offset * 2],
    ...[...I32X4_DOT_I16X8_S, LOCAL_GET, sum, ...I32X4_ADD, LOCAL_SET, sum],
  ]
}

const section = (id: number, body: readonly number[]): number[] => [
  ...[id, ...length(body.length)],
  ...body,
]

const name = (text: string): number[] => [text.length, ...Buffer.from(text)]

/** LEB128 of a number below 2^14. */
const length = (count: number): number[] =>
  count < 0x80 ? [count] : [(count & 0x7f) | 0x80, count >>> 7]
