// How far a walk is, and that it is to stop: memory that its thread and the main one share.

/** The walk was told to stop. */
export class WalkStopped extends Error {
  override readonly name = 'WalkStopped'
}

const STOP = 0
const DONE = 1
const TOTAL = 2
const CELLS = 3

/** A thread that reads rows looks at no messages; this it looks at after every page. */
export class WalkControl {
  readonly buffer: SharedArrayBuffer
  readonly #cells: BigInt64Array

  constructor(buffer = new SharedArrayBuffer(CELLS * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer
    this.#cells = new BigInt64Array(buffer)
  }

  stop(): void {
    Atomics.store(this.#cells, STOP, 1n)
  }

  /** Of the thread: so many entries are behind it. Throws WalkStopped. */
  passed(done: number, total: number): void {
    Atomics.store(this.#cells, TOTAL, BigInt(total))
    Atomics.store(this.#cells, DONE, BigInt(done))
    if (Atomics.load(this.#cells, STOP) === 1n) throw new WalkStopped()
  }

  /** Entries of the log; both are 0 before it has begun. */
  get progress(): { readonly done: number; readonly total: number } {
    const done = Number(Atomics.load(this.#cells, DONE))
    return { done, total: Number(Atomics.load(this.#cells, TOTAL)) }
  }
}
