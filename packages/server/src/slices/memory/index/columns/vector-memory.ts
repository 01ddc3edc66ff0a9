// WebAssembly memories that hold the vectors of all indexes of the process in blocks, and dot
// products computed in place.

import assert from 'node:assert/strict'
import { DOTS_MODULE } from './generated/wasm-modules.ts'

/** Vectors are padded with zeros to a multiple of this number of dimensions. */
export const STEP = 16

/** The part of the WebAssembly API that is used here; Node's types lack it. */
declare namespace WebAssembly {
  class Memory {
    constructor(descriptor: { initial: number; maximum: number; shared: true })
    readonly buffer: SharedArrayBuffer
    grow(pages: number): number
  }
  class Module {
    constructor(bytes: Uint8Array)
  }
  class Instance {
    constructor(module: Module, imports: { m: { m: Memory } })
    readonly exports: { readonly dots: (...addresses: readonly number[]) => void }
  }
  function validate(bytes: Uint8Array): boolean
}

const PAGE_BYTES = 0x10000
/** Maximum pages of a memory, as declared in `dots.wat`: 256 MiB. */
const PAGES_MAX = 4_096
/** An empty memory that has grown beyond this is returned to the system. */
const PAGES_KEPT = 64
/** Block sizes are powers of two in this range. */
const BLOCK_BYTES_MIN = 4_096
export const BLOCK_BYTES_MAX = PAGE_BYTES
const CLASSES = Math.log2(BLOCK_BYTES_MAX / BLOCK_BYTES_MIN) + 1

/** The first page of a memory is working memory: a query in two parts, then results per block. */
const QUERY_DIMENSIONS_MAX = 8_192
const RESULTS_AT = QUERY_DIMENSIONS_MAX * 2
/** The number of vectors that fit into a block, a multiple of four. */
const RESULTS_MAX = BLOCK_BYTES_MAX / STEP

/** Room for vectors. It is zeroed when it is allocated, and again when it is freed. */
export interface VectorBlock {
  readonly bytes: Int8Array
  /** Position in a memory; `null` for an ordinary array, which is searched without SIMD. */
  readonly place: { readonly memory: VectorMemory; readonly offset: number } | null
}

/**
 * A memory never shrinks, and each reserves gigabytes of addresses. So the process has few memories
 * and allocates blocks within them (buddy allocation: free neighbours are joined).
 */
class VectorMemory {
  readonly #memory = new WebAssembly.Memory({ initial: 1, maximum: PAGES_MAX, shared: true })
  /** Takes five addresses, the parameters in `dots.wat`. */
  readonly #dots: WebAssembly.Instance['exports']['dots']
  readonly #query: Uint8Array
  readonly #results: Int32Array
  /** Offsets of free blocks of BLOCK_BYTES_MIN * 2 ** class bytes, by class. */
  readonly #free = Array.from({ length: CLASSES }, () => new Set<number>())
  #pages = 1
  #blocks = 0

  constructor(module: WebAssembly.Module) {
    const { exports } = new WebAssembly.Instance(module, { m: { m: this.#memory } })
    this.#dots = exports.dots
    const { buffer } = this.#memory
    this.#query = new Uint8Array(buffer, 0, QUERY_DIMENSIONS_MAX * 2)
    this.#results = new Int32Array(buffer, RESULTS_AT, RESULTS_MAX)
  }

  get isWorthKeeping(): boolean {
    return this.#blocks > 0 || this.#pages <= PAGES_KEPT
  }

  /** Returns undefined if there is no room. */
  allocate(size: number): VectorBlock | undefined {
    const offset = this.#take(size)
    if (offset === undefined) return undefined
    this.#blocks++
    const bytes = new Int8Array(this.#memory.buffer, offset, BLOCK_BYTES_MIN * 2 ** size)
    return { bytes, place: { memory: this, offset } }
  }

  free(offset: number, size: number): void {
    this.#blocks--
    let [at, joined] = [offset, size]
    for (; joined < CLASSES - 1; joined++) {
      const neighbour = at ^ (BLOCK_BYTES_MIN * 2 ** joined)
      if (!this.#free[joined]?.delete(neighbour)) break
      at = Math.min(at, neighbour)
    }
    this.#free[joined]?.add(at)
  }

  /** Call this before `run`, in the same search. No number of the query may be below -127. */
  setQuery(query: Int8Array): void {
    for (let from = 0; from < query.length; from += STEP)
      for (let at = from; at < from + STEP; at++) {
        this.#query[from + at] = Math.max(0, query[at] ?? 0)
        this.#query[from + STEP + at] = Math.max(0, -(query[at] ?? 0))
      }
  }

  /**
   * Writes the dot products of the query with `count` vectors of a block into `out`, from `at` on.
   * The vectors are as long as the query, a multiple of STEP.
   */
  run(
    offset: number,
    stride: number,
    { out, at, count }: { out: Int32Array; at: number; count: number },
  ): void {
    this.#dots(offset, offset + count * stride, 0, stride, RESULTS_AT)
    out.set(this.#results.subarray(0, count), at)
  }

  /** Wipes the query and its results. */
  wipe(): void {
    this.#query.fill(0)
    this.#results.fill(0)
  }

  #take(size: number): number | undefined {
    for (let larger = size; larger < CLASSES; larger++) {
      const offset = this.#free[larger]?.values().next().value
      if (offset === undefined) continue
      this.#free[larger]?.delete(offset)
      return this.#split(offset, larger, size)
    }
    if (this.#pages === PAGES_MAX) return undefined
    this.#memory.grow(1)
    return this.#split(this.#pages++ * PAGE_BYTES, CLASSES - 1, size)
  }

  /** Frees the upper halves of a block until its lower part has the wanted class. */
  #split(offset: number, from: number, to: number): number {
    for (let half = from - 1; half >= to; half--)
      this.#free[half]?.add(offset + BLOCK_BYTES_MIN * 2 ** half)
    return offset
  }
}

/** Compiled on first use, so a process without vectors compiles no module. `null` without SIMD. */
let module: WebAssembly.Module | null | undefined
const memories: VectorMemory[] = []

/** Allocates a block of at least `bytes`, which must be at most BLOCK_BYTES_MAX. */
export function allocateBlock(bytes: number): VectorBlock {
  const size = classOf(bytes)
  assert(size < CLASSES, 'a block of vectors has a bounded size')
  for (const memory of memories) {
    const block = memory.allocate(size)
    if (block !== undefined) return block
  }
  const block = openMemory()?.allocate(size)
  return block ?? { bytes: new Int8Array(BLOCK_BYTES_MIN * 2 ** size), place: null }
}

const classOf = (bytes: number): number =>
  Math.max(0, Math.ceil(Math.log2(bytes / BLOCK_BYTES_MIN)))

/** Returns undefined if the machine has no SIMD or no addresses are left. */
function openMemory(): VectorMemory | undefined {
  if (module === undefined)
    module = WebAssembly.validate(DOTS_MODULE) ? new WebAssembly.Module(DOTS_MODULE) : null
  if (module === null) return undefined
  try {
    const memory = new VectorMemory(module)
    memories.push(memory)
    return memory
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Overwrites a block with zeros, so that an erased fact leaves nothing here. */
export function freeBlock({ bytes, place }: VectorBlock): void {
  bytes.fill(0)
  if (place === null) return
  const { memory, offset } = place
  memory.free(offset, classOf(bytes.length))
  if (!memory.isWorthKeeping) memories.splice(memories.indexOf(memory), 1)
}

export type { VectorMemory }
