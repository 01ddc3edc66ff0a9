// Working memory of a search by slot, and the search's passes over all slots. Passes run in
// WebAssembly or, if no memory is available for it, in JavaScript, which takes three times as long.
// Both give the same results, bit for bit.

import { SCORE_PASSES_MODULE } from './generated/wasm-modules.ts'
import { NO_SESSION } from './slot-columns.ts'

/** The part of the WebAssembly API that is used here; Node's types lack it. */
declare namespace WebAssembly {
  class Memory {
    constructor(descriptor: { initial: number; maximum: number })
    readonly buffer: ArrayBuffer
  }
  class Module {
    constructor(bytes: Uint8Array)
  }
  class Instance {
    constructor(module: Module, imports: { m: { m: Memory } })
    readonly exports: Record<'sum' | 'select', (...parameters: readonly number[]) => number>
  }
}

const PAGE_BYTES = 0x10000
/** Compiled on first use, so a process that never searches compiles no module. */
let module: WebAssembly.Module | undefined

interface SumOptions {
  /** `valid` or `filtered`. */
  readonly visible: Uint8Array
  readonly perDot: number
  readonly least: number
}

/** Arrays are indexed by slot unless stated otherwise. */
export class ScorePasses {
  readonly lexical: Float64Array
  readonly neighbour: Float64Array
  /** Dot products with the query. */
  readonly dots: Int32Array
  /** Flags of visible slots, before and after a filter. */
  readonly valid: Uint8Array
  readonly filtered: Uint8Array
  /** The session of each slot when the search began. */
  readonly sessions: Int32Array
  /** The sums that bound scores; minus infinity for slots that are not visible. */
  readonly sums: Float64Array
  /** The highest sum in each session, by session. */
  readonly sessionMaxima: Float64Array
  /** The lowest selected sum: first for slots without a session, then for each session. */
  readonly leasts: Float64Array
  /** The slots that `sum` or `select` selected. */
  readonly selected: Int32Array
  /** One number: the highest dot product that `sum` has seen. */
  readonly dotMax: Int32Array
  readonly #module: WebAssembly.Instance['exports'] | null

  /** Makes working memory for `capacity` slots and as many sessions. */
  constructor(capacity: number, open: typeof openMemory = openMemory) {
    const bytes = capacity * (5 * 8 + 3 * 4 + 2) + 8 + 4
    const { buffer, exports } = open(bytes)
    this.#module = exports
    let used = 0
    const take = (length: number, width: number) => {
      used += length * width
      return [buffer, used - length * width, length] as const
    }
    this.lexical = new Float64Array(...take(capacity, 8))
    this.neighbour = new Float64Array(...take(capacity, 8))
    this.sums = new Float64Array(...take(capacity, 8))
    this.sessionMaxima = new Float64Array(...take(capacity, 8))
    this.leasts = new Float64Array(...take(capacity + 1, 8))
    this.dots = new Int32Array(...take(capacity, 4))
    this.sessions = new Int32Array(...take(capacity, 4))
    this.selected = new Int32Array(...take(capacity, 4))
    this.dotMax = new Int32Array(...take(1, 4))
    this.valid = new Uint8Array(...take(capacity, 1))
    this.filtered = new Uint8Array(...take(capacity, 1))
  }

  /**
   * Writes the sums of slots `from` to `to` - 1: term scores plus `perDot` for each unit of a
   * positive dot product. Updates the maxima. Selects slots with a sum above `least` and returns
   * their number.
   */
  sum(range: readonly [from: number, to: number], options: SumOptions): number {
    if (this.#module === null) return this.#sumPlainly(range, options)
    const [from, to] = range
    const { visible, perDot, least } = options
    const { lexical, neighbour, dots, sessions, sums, sessionMaxima, dotMax, selected } = this
    return this.#module.sum(
      ...[from, to, lexical.byteOffset, neighbour.byteOffset, dots.byteOffset],
      ...[visible.byteOffset, sessions.byteOffset, sums.byteOffset, sessionMaxima.byteOffset],
      ...[dotMax.byteOffset, selected.byteOffset, perDot, least],
    )
  }

  /** Selects slots `from` to `to` - 1 by the `leasts` of their sessions; returns their number. */
  select(from: number, to: number): number {
    if (this.#module === null) return this.#selectPlainly(from, to)
    const arrays = [this.sums, this.sessions, this.leasts, this.selected]
    return this.#module.select(from, to, ...arrays.map((array) => array.byteOffset))
  }

  #sumPlainly(
    [from, to]: readonly [number, number],
    { visible, perDot, least }: SumOptions,
  ): number {
    const { lexical, neighbour, dots, sessions, sums, sessionMaxima, dotMax, selected } = this
    let count = 0
    for (let slot = from; slot < to; slot++) {
      sums[slot] = Number.NEGATIVE_INFINITY
      if (visible[slot] === 0) continue
      const dot = Math.max(0, dots[slot] ?? 0)
      const sum = (lexical[slot] ?? 0) + (neighbour[slot] ?? 0) + perDot * dot
      sums[slot] = sum
      if (sum > least) selected[count++] = slot
      dotMax[0] = Math.max(dotMax[0] ?? 0, dot)
      const session = sessions[slot] ?? NO_SESSION
      if (session !== NO_SESSION)
        sessionMaxima[session] = Math.max(sessionMaxima[session] ?? 0, sum)
    }
    return count
  }

  #selectPlainly(from: number, to: number): number {
    const { sums, sessions, leasts, selected } = this
    let count = 0
    for (let slot = from; slot < to; slot++)
      if ((sums[slot] ?? 0) >= (leasts[(sessions[slot] ?? NO_SESSION) + 1] ?? 0))
        selected[count++] = slot
    return count
  }
}

/** A failed attempt collects all garbage, which takes longer than the passes: try only once. */
let isRefused = false

/** Returns `exports: null` if the process has no addresses left for such a memory. */
function openMemory(bytes: number): {
  buffer: ArrayBuffer
  exports: WebAssembly.Instance['exports'] | null
} {
  const plain = () => ({ buffer: new ArrayBuffer(bytes), exports: null })
  if (isRefused) return plain()
  const pages = Math.ceil(bytes / PAGE_BYTES)
  try {
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages })
    module ??= new WebAssembly.Module(SCORE_PASSES_MODULE)
    const { exports } = new WebAssembly.Instance(module, { m: { m: memory } })
    return { buffer: memory.buffer, exports }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    isRefused = true
    return plain()
  }
}
