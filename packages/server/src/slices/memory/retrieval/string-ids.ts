// Small whole numbers for strings, given back when a string goes.

/** Maps side by side: one that grows is copied, and a large one would hold up every request. */
const SHARDS = 16

export class StringIds {
  readonly #shards = Array.from({ length: SHARDS }, () => new Map<string, number>())
  readonly #strings: (string | undefined)[] = []
  readonly #free: number[] = []
  #units = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  find(text: string): number | undefined {
    return this.#shard(text).get(text)
  }

  /** The id of a string that has none yet; ids are as small as can be. */
  add(text: string): number {
    const id = this.#free.pop() ?? this.#strings.length
    const own = copyOf(text)
    this.#shard(own).set(own, id)
    this.#strings[id] = own
    this.#units += own.length
    this.#size++
    return id
  }

  delete(id: number): void {
    const text = this.#strings[id]
    if (text === undefined) return
    this.#shard(text).delete(text)
    this.#strings[id] = undefined
    this.#free.push(id)
    this.#units -= text.length
    this.#size--
  }

  /** The string that has the id now, if any. */
  at(id: number): string | undefined {
    return this.#strings[id]
  }

  *strings(): Iterable<string> {
    for (const shard of this.#shards) yield* shard.keys()
  }

  /** A place in a map and in the list, the head of a string, and the letters. */
  bytes(): number {
    return this.#size * 88 + this.#units
  }

  #shard(text: string): Map<string, number> {
    const mixed = text.length + text.charCodeAt(text.length - 1) * 5 + text.charCodeAt(0) * 3
    const shard = this.#shards[mixed & (SHARDS - 1)]
    if (shard === undefined) throw new Error('a string without a shard')
    return shard
  }
}

const WIDE = /[\u0100-\uffff]/

/** A string cut from a content may be a view that keeps all of it alive: its letters are copied. */
function copyOf(text: string): string {
  const encoding = WIDE.test(text) ? 'utf16le' : 'latin1'
  return Buffer.from(text, encoding).toString(encoding)
}
