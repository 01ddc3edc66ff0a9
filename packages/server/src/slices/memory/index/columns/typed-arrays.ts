// Collections in typed arrays, without an object per entry: an arena of short runs, a table by ref,
// and a list of slots.

/** Maximum entries of a chunk; also the distance between the addresses of two chunks. */
const CHUNK = 0x10000
/** Entries in the first chunk. Each further chunk has twice as many, up to CHUNK. */
const FIRST_CHUNK = 256
/** Longer runs get an array of their own. */
const RUN_MAX = 4_096
/** The class of runs with an array of their own. */
export const OWN_ARRAY = 255

/** Room of a run by class: all whole numbers up to 8, then four steps per doubling. */
const ROOMS = roomsUpTo(RUN_MAX)
const CLASS_BY_LENGTH = classesOf(ROOMS)

/** The smallest class with room for `length` numbers. */
export function findRunClass(length: number): number {
  return length > RUN_MAX ? OWN_ARRAY : (CLASS_BY_LENGTH[length] ?? 0)
}

/**
 * Many short runs of 32-bit numbers in few large arrays. Runs are allocated by class and freed by
 * address; a freed run is overwritten with zeros and reused. Chunks are never freed.
 */
export class UintArena {
  readonly #chunks: Uint32Array[] = []
  /** Number of used entries in the last chunk, and its length. */
  #used = 0
  #room = 0
  readonly #own: (Uint32Array | undefined)[] = []
  readonly #freeOwn: number[] = []
  /**
   * 1 + the address of the first free run, by class. The first number of a free run links to the
   * next.
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

  /** A run: `array` from `start` on. Moving the run replaces the array. */
  at(address: number, runClass: number): { array: Uint32Array; start: number } {
    const array = runClass === OWN_ARRAY ? this.#own[address] : this.#chunks[address >>> 16]
    if (array === undefined) throw new Error('an address outside the arena')
    return { array, start: runClass === OWN_ARRAY ? 0 : address & (CHUNK - 1) }
  }

  /** Number of entries that a run has room for. */
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

export type NumberArray = Float64Array | Uint32Array | Int32Array | Uint8Array | Int8Array

/**
 * Returns the array itself if it has an entry `at`, else a copy half as long again, filled with
 * `fill`.
 */
export const growArray = <A extends NumberArray>(array: A, at: number, fill = 0): A =>
  at < array.length ? array : lengthen(array, at + (at >>> 1) + 16, fill)

/** Returns the array itself if it has `length` entries, else a copy with an eighth more. */
export const reserveArray = <A extends NumberArray>(array: A, length: number, fill = 0): A =>
  length <= array.length ? array : lengthen(array, length + (length >>> 3) + 16, fill)

function lengthen<A extends NumberArray>(array: A, length: number, fill: number): A {
  const Kind = array.constructor as new (length: number) => A
  const longer = new Kind(length)
  longer.set(array)
  if (fill !== 0) longer.fill(fill, array.length)
  return longer
}

const FREE = 0
const DELETED = -1
const FIRST_BUCKETS = 16
/** Buckets of the smaller table moved with each change, which spreads growth over many changes. */
const BUCKETS_AT_ONCE = 8

/** Keys are refs plus 1, so a new array is all free buckets. */
interface RefBuckets {
  readonly keys: Float64Array
  readonly values: Uint32Array
}

const makeBuckets = (count: number): RefBuckets => ({
  keys: new Float64Array(count),
  values: new Uint32Array(count),
})

/**
 * Maps refs to numbers in a third of the memory of a Map: open addressing with linear probing, at
 * most two thirds full. A table that grows is moved bucket by bucket into one twice as large.
 */
export class RefTable {
  #table = makeBuckets(FIRST_BUCKETS)
  /** The table that is being moved, and the number of its buckets moved so far. */
  #smaller: RefBuckets | null = null
  #moved = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  get(ref: number): number | undefined {
    const known = readBucket(this.#table, ref)
    return known === undefined && this.#smaller !== null ? readBucket(this.#smaller, ref) : known
  }

  set(ref: number, value: number): void {
    if (this.get(ref) === undefined) {
      this.#size++
      if (this.#size * 3 > this.#table.keys.length * 2) this.#grow()
    }
    writeBucket(this.#table, ref, value)
    this.#move(BUCKETS_AT_ONCE)
  }

  /** Makes room for `size` refs in total. */
  reserve(size: number): void {
    while (size * 3 > this.#table.keys.length * 2) this.#grow()
    this.#move(Number.POSITIVE_INFINITY)
  }

  delete(ref: number): void {
    if (this.get(ref) === undefined) return
    this.#size--
    closeBucket(this.#table, ref)
    if (this.#smaller !== null) {
      const bucket = findBucket(this.#smaller, ref)
      // The bucket is marked, not freed: probing finds later entries by passing over it.
      if (this.#smaller.keys[bucket] !== FREE) this.#smaller.keys[bucket] = DELETED
      this.#smaller.values[bucket] = 0
    }
    this.#move(BUCKETS_AT_ONCE)
  }

  bytes(): number {
    const buckets = this.#table.keys.length + (this.#smaller?.keys.length ?? 0)
    return this.#size === 0 ? 0 : buckets * 12
  }

  #grow(): void {
    this.#move(Number.POSITIVE_INFINITY)
    this.#smaller = this.#table
    this.#moved = 0
    this.#table = makeBuckets(this.#table.keys.length * 2)
  }

  #move(most: number): void {
    if (this.#smaller === null) return
    const { keys, values } = this.#smaller
    const end = Math.min(keys.length, this.#moved + most)
    for (; this.#moved < end; this.#moved++) {
      const key = keys[this.#moved] ?? FREE
      if (key === FREE || key === DELETED) continue
      // A ref that was set since the move began already has its number.
      if (readBucket(this.#table, key - 1) === undefined)
        writeBucket(this.#table, key - 1, values[this.#moved] ?? 0)
    }
    if (this.#moved === keys.length) this.#smaller = null
  }
}

/** Finds the bucket of the ref, or the free bucket where it would be. */
function findBucket({ keys }: RefBuckets, ref: number): number {
  const mask = keys.length - 1
  let bucket = hashRef(ref, mask)
  while (keys[bucket] !== ref + 1 && keys[bucket] !== FREE) bucket = (bucket + 1) & mask
  return bucket
}

function readBucket(table: RefBuckets, ref: number): number | undefined {
  const bucket = findBucket(table, ref)
  return table.keys[bucket] === FREE ? undefined : table.values[bucket]
}

function writeBucket(table: RefBuckets, ref: number, value: number): void {
  const bucket = findBucket(table, ref)
  table.keys[bucket] = ref + 1
  table.values[bucket] = value
}

/** Frees the bucket of a ref. Moves later entries up, so that no search ends too early. */
function closeBucket(table: RefBuckets, ref: number): void {
  const { keys, values } = table
  const mask = keys.length - 1
  let gap = findBucket(table, ref)
  if (keys[gap] === FREE) return
  for (let bucket = (gap + 1) & mask; keys[bucket] !== FREE; bucket = (bucket + 1) & mask) {
    const moved = keys[bucket] ?? FREE
    const home = hashRef(moved - 1, mask)
    if (((bucket - home) & mask) < ((bucket - gap) & mask)) continue
    keys[gap] = moved
    values[gap] = values[bucket] ?? 0
    gap = bucket
  }
  keys[gap] = FREE
  values[gap] = 0
}

/** Fibonacci hashing of both halves: refs are dense, or in blocks with gaps between them. */
function hashRef(ref: number, mask: number): number {
  const low = Math.imul(ref | 0, 0x9e3779b1)
  const high = Math.imul((ref / 0x100000000) | 0, 0x85ebca6b)
  const mixed = low ^ high
  return (mixed ^ (mixed >>> 15)) & mask
}

/** A list of slots that is reused for every term of a search; it never allocates or grows. */
export class SlotList {
  readonly #slots: Int32Array
  size = 0

  /** A list holds each slot at most once, so the number of slots suffices as `capacity`. */
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
