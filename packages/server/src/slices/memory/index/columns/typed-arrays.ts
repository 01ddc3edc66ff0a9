// Collections in typed arrays, without an object for each entry: an arena of short runs, a table by
// ref, a list of slots.

/** Entries in a chunk at most; also the step between the addresses of two chunks. */
const CHUNK = 0x10000
/** Entries in the first chunk; each further chunk has twice as many, up to CHUNK. */
const FIRST_CHUNK = 256
/** Longer runs have an array of their own. */
const RUN_MAX = 4_096
/** The class of runs that have an array of their own. */
export const OWN_ARRAY = 255

/** Room in a run by its class: whole numbers up to 8, then four steps to each doubling. */
const ROOMS = roomsUpTo(RUN_MAX)
const CLASS_BY_LENGTH = classesOf(ROOMS)

/** The smallest class with room for `length` numbers. */
export function findRunClass(length: number): number {
  return length > RUN_MAX ? OWN_ARRAY : (CLASS_BY_LENGTH[length] ?? 0)
}

/** A run: `array` from `start` on. The array is replaced when the run moves. */
interface ArenaRun {
  readonly array: Uint32Array
  readonly start: number
}

/**
 * Many short runs of 32-bit numbers in few large arrays. Runs are allocated by class and freed by
 * address; a freed run is overwritten with zeros and reused. Chunks are never freed.
 */
export class UintArena {
  readonly #chunks: Uint32Array[] = []
  /** Entries of the last chunk that are used, and its length. */
  #used = 0
  #room = 0
  readonly #own: (Uint32Array | undefined)[] = []
  readonly #freeOwn: number[] = []
  /**
   * By class: 1 + the address of the first free run, whose first number is the next in the list.
   */
  readonly #free = new Uint32Array(ROOMS.length)
  #bytes = 0

  /** Returns the address of a run of zeros of the class, with room for `length` numbers. */
  allocate(runClass: number, length: number): number {
    if (runClass === OWN_ARRAY) return this.#allocateOwn(length)
    const free = this.#free[runClass] ?? 0
    if (free > 0) {
      const { array, start } = this.at(free - 1, runClass)
      this.#free[runClass] = array[start] ?? 0
      array[start] = 0
      return free - 1
    }
    const room = ROOMS[runClass] ?? 0
    if (this.#used + room > this.#room) this.#addChunk(room)
    const address = (this.#chunks.length - 1) * CHUNK + this.#used
    this.#used += room
    return address
  }

  free(address: number, runClass: number): void {
    if (runClass === OWN_ARRAY) {
      this.#bytes -= this.#own[address]?.fill(0).byteLength ?? 0
      this.#own[address] = undefined
      this.#freeOwn.push(address)
      return
    }
    const { array, start } = this.at(address, runClass)
    array.fill(0, start, start + (ROOMS[runClass] ?? 0))
    array[start] = this.#free[runClass] ?? 0
    this.#free[runClass] = address + 1
  }

  at(address: number, runClass: number): ArenaRun {
    const array = runClass === OWN_ARRAY ? this.#own[address] : this.#chunks[address >>> 16]
    if (array === undefined) throw new Error('an address outside the arena')
    return { array, start: runClass === OWN_ARRAY ? 0 : address & (CHUNK - 1) }
  }

  /** How many numbers a run has room for. */
  roomOf(address: number, runClass: number): number {
    return runClass === OWN_ARRAY ? (this.#own[address]?.length ?? 0) : (ROOMS[runClass] ?? 0)
  }

  bytes(): number {
    return this.#bytes
  }

  #addChunk(least: number): void {
    this.#room = Math.min(CHUNK, Math.max(FIRST_CHUNK, this.#room * 2, least))
    this.#used = 0
    this.#chunks.push(new Uint32Array(this.#room))
    this.#bytes += this.#room * 4
  }

  #allocateOwn(length: number): number {
    const array = new Uint32Array(length + (length >>> 2))
    this.#bytes += array.byteLength
    const free = this.#freeOwn.pop()
    if (free !== undefined) {
      this.#own[free] = array
      return free
    }
    return this.#own.push(array) - 1
  }
}

function roomsUpTo(most: number): number[] {
  const rooms: number[] = []
  for (let room = 1; room <= most; room += room < 8 ? 1 : 2 ** (Math.floor(Math.log2(room)) - 2))
    rooms.push(room)
  return rooms
}

function classesOf(rooms: readonly number[]): Uint8Array {
  const classes = new Uint8Array((rooms.at(-1) ?? 0) + 1)
  let runClass = 0
  for (let length = 1; length < classes.length; length++) {
    if (length > (rooms[runClass] ?? 0)) runClass++
    classes[length] = runClass
  }
  return classes
}

type GrowableArray = Float64Array | Uint32Array | Int32Array | Uint8Array

/**
 * The array itself when it has an entry `at`, else a copy half as long again, filled with `fill`.
 */
export function growArray<A extends GrowableArray>(array: A, at: number, fill = 0): A {
  if (at < array.length) return array
  const Kind = array.constructor as new (length: number) => A
  const longer = new Kind(at + (at >>> 1) + 16)
  longer.set(array)
  if (fill !== 0) longer.fill(fill, array.length)
  return longer
}

const FREE = -1
const FIRST_BUCKETS = 16

/**
 * A number by ref, in a third of the memory of a map: open addressing with linear probing, at most
 * two buckets in three used.
 */
export class RefTable {
  #refs = new Float64Array(FIRST_BUCKETS).fill(FREE)
  #values = new Uint32Array(FIRST_BUCKETS)
  #size = 0

  get size(): number {
    return this.#size
  }

  get(ref: number): number | undefined {
    const bucket = this.#findBucket(ref)
    return this.#refs[bucket] === ref ? this.#values[bucket] : undefined
  }

  set(ref: number, value: number): void {
    let bucket = this.#findBucket(ref)
    if (this.#refs[bucket] !== ref) {
      if ((this.#size + 1) * 3 > this.#refs.length * 2) {
        this.#grow()
        bucket = this.#findBucket(ref)
      }
      this.#refs[bucket] = ref
      this.#size++
    }
    this.#values[bucket] = value
  }

  delete(ref: number): void {
    const mask = this.#refs.length - 1
    let gap = this.#findBucket(ref)
    if (this.#refs[gap] !== ref) return
    // Entries behind the gap that may be in it move up, so that no search ends too early.
    for (let bucket = (gap + 1) & mask; this.#refs[bucket] !== FREE; bucket = (bucket + 1) & mask) {
      const moved = this.#refs[bucket] ?? 0
      const home = hashRef(moved, mask)
      if (((bucket - home) & mask) < ((bucket - gap) & mask)) continue
      this.#refs[gap] = moved
      this.#values[gap] = this.#values[bucket] ?? 0
      gap = bucket
    }
    this.#refs[gap] = FREE
    this.#values[gap] = 0
    this.#size--
  }

  bytes(): number {
    return this.#size === 0 ? 0 : this.#refs.length * 12
  }

  /** The bucket of the ref, or the free one where it would be. */
  #findBucket(ref: number): number {
    const refs = this.#refs
    const mask = refs.length - 1
    let bucket = hashRef(ref, mask)
    while (refs[bucket] !== ref && refs[bucket] !== FREE) bucket = (bucket + 1) & mask
    return bucket
  }

  #grow(): void {
    const [refs, values] = [this.#refs, this.#values]
    this.#refs = new Float64Array(refs.length * 2).fill(FREE)
    this.#values = new Uint32Array(refs.length * 2)
    for (let at = 0; at < refs.length; at++) {
      const ref = refs[at] ?? FREE
      if (ref === FREE) continue
      const bucket = this.#findBucket(ref)
      this.#refs[bucket] = ref
      this.#values[bucket] = values[at] ?? 0
    }
  }
}

/** Fibonacci hashing of both halves: refs are dense, or blocks with gaps between them. */
function hashRef(ref: number, mask: number): number {
  const low = Math.imul(ref | 0, 0x9e3779b1)
  const high = Math.imul((ref / 0x100000000) | 0, 0x85ebca6b)
  const mixed = low ^ high
  return (mixed ^ (mixed >>> 15)) & mask
}

/** A list of slots that is reused for every term of a search: it never allocates or grows. */
export class SlotList {
  readonly #slots: Int32Array
  size = 0

  /** `capacity`: the number of slots is enough, as a list holds each slot once. */
  constructor(capacity: number) {
    this.#slots = new Int32Array(capacity)
  }

  push(slot: number): void {
    this.#slots[this.size++] = slot
  }

  at(index: number): number {
    return this.#slots[index] ?? 0
  }

  clear(): void {
    this.size = 0
  }
}
