// Many short runs of 32-bit numbers in few large arrays: an array object for each costs far more.

/** Entries in a chunk at most; also the step between the addresses of two chunks. */
const CHUNK = 0x10000
/** Entries in the first chunk; each further one has twice as many, up to CHUNK. */
const CHUNK_AT_FIRST = 256
/** Longer runs have an array of their own. */
const RUN_MAX = 4_096
/** The class of runs that have an array of their own. */
export const OWN_ARRAY = 255

/** Room in a run by its class: whole numbers up to 8, then four steps to each doubling. */
const ROOMS = roomsUpTo(RUN_MAX)
const CLASS_BY_LENGTH = classesOf(ROOMS)

/** The smallest class with room for `length` numbers. */
export function runClassOf(length: number): number {
  return length > RUN_MAX ? OWN_ARRAY : (CLASS_BY_LENGTH[length] ?? 0)
}

/** Where a run is: `array` from `start` on. An array is replaced when its run moves. */
export interface Run {
  readonly array: Uint32Array
  readonly start: number
}

/**
 * Runs are taken by class and given back by address. What is given back is overwritten with
 * zeros, and reused; chunks are kept until the arena goes.
 */
export class UintArena {
  readonly #chunks: Uint32Array[] = []
  /** Of the last chunk: entries taken, and entries there are. */
  #used = 0
  #room = 0
  readonly #own: (Uint32Array | undefined)[] = []
  readonly #freeOwn: number[] = []
  /** By class: 1 + the address of the first free run, which holds the next likewise. */
  readonly #free = new Uint32Array(ROOMS.length)
  #bytes = 0

  /** The address of a run of zeros with room for `length` numbers of that class. */
  take(runClass: number, length: number): number {
    if (runClass === OWN_ARRAY) return this.#takeOwn(length)
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

  give(address: number, runClass: number): void {
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

  array(address: number, runClass: number): Uint32Array {
    const array = runClass === OWN_ARRAY ? this.#own[address] : this.#chunks[address >>> 16]
    if (array === undefined) throw new Error('an address outside the arena')
    return array
  }

  at(address: number, runClass: number): Run {
    const start = runClass === OWN_ARRAY ? 0 : address & (CHUNK - 1)
    return { array: this.array(address, runClass), start }
  }

  /** How many numbers a run has room for. */
  roomOf(address: number, runClass: number): number {
    return runClass === OWN_ARRAY ? (this.#own[address]?.length ?? 0) : (ROOMS[runClass] ?? 0)
  }

  bytes(): number {
    return this.#bytes
  }

  #addChunk(least: number): void {
    this.#room = Math.min(CHUNK, Math.max(CHUNK_AT_FIRST, this.#room * 2, least))
    this.#used = 0
    this.#chunks.push(new Uint32Array(this.#room))
    this.#bytes += this.#room * 4
  }

  #takeOwn(length: number): number {
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
