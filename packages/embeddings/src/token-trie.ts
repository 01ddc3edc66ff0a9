// A trie of the tokens of a vocabulary, which finds the longest token at a position of a text.

/** Stands for no token, or no node. */
export const NONE = -1
/** The least number of slots per node, with which most searches end at the first slot. */
const ROOM = 2

/** The node of the empty text. */
export const ROOT = 0

/**
 * One node for each prefix of a token, in flat arrays: a map of strings takes more memory and needs
 * a string for each search. A node is found by its parent and its last UTF-16 unit.
 */
export class TokenTrie {
  /** The parent of each node. */
  readonly #parents: Int32Array
  readonly #units: Uint16Array
  /** The token that ends at each node, or NONE. */
  readonly #tokens: Int32Array
  /** A hash table of nodes. ROOT, which is no node's child, marks a free slot. */
  readonly #slots: Int32Array

  /** The id of a token is its index in the list. Of two equal tokens the last one counts. */
  constructor(tokens: readonly string[]) {
    const most = tokens.reduce((sum, token) => sum + token.length, 1)
    const parents = new Int32Array(most)
    const units = new Uint16Array(most)
    const ends = new Int32Array(most).fill(NONE)
    const slots = new Int32Array(2 ** Math.ceil(Math.log2(most * ROOM)))
    let nodes = 1
    for (let id = 0; id < tokens.length; id++) {
      const token = tokens[id] ?? ''
      let node = ROOT
      for (let at = 0; at < token.length; at++) {
        const unit = token.charCodeAt(at)
        let slot = hashOf(node, unit) & (slots.length - 1)
        for (;;) {
          const held = slots[slot] ?? ROOT
          if (held === ROOT) {
            parents[nodes] = node
            units[nodes] = unit
            slots[slot] = nodes
            node = nodes++
            break
          }
          if (parents[held] === node && units[held] === unit) {
            node = held
            break
          }
          slot = (slot + 1) & (slots.length - 1)
        }
      }
      ends[node] = id
    }
    this.#parents = parents.slice(0, nodes)
    this.#units = units.slice(0, nodes)
    this.#tokens = ends.slice(0, nodes)
    this.#slots = slots
  }

  /**
   * Finds the longest token that consists of the text of `node` and a part of `text` that begins at
   * `from` and ends before `to`. Returns NONE if there is none.
   */
  findLongest(node: number, text: string, from: number, to: number): number {
    let [longest, reached] = [NONE, node]
    for (let at = from; at < to; at++) {
      reached = this.childOf(reached, text.charCodeAt(at))
      if (reached === NONE) break
      const token = this.#tokens[reached] ?? NONE
      if (token !== NONE) longest = token
    }
    return longest
  }

  /** The child of a node for one UTF-16 unit; NONE if no token begins so. */
  childOf(node: number, unit: number): number {
    const mask = this.#slots.length - 1
    for (let slot = hashOf(node, unit) & mask; ; slot = (slot + 1) & mask) {
      const held = this.#slots[slot] ?? ROOT
      if (held === ROOT) return NONE
      if (this.#parents[held] === node && this.#units[held] === unit) return held
    }
  }
}

function hashOf(parent: number, unit: number): number {
  const mixed = Math.imul(parent, 0x9e3779b1) ^ Math.imul(unit, 0x85ebca77)
  return mixed ^ (mixed >>> 15)
}
