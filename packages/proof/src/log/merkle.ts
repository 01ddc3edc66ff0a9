// The Merkle tree of RFC 6962: its hashes, and the immutable frontier that new leaves extend.
import { type Sha256, sha256 } from '../core/digest.ts'
import { ProofError } from '../core/errors.ts'

/** RFC 6962 2.1: SHA-256(0x00 ‖ data). */
export function leafHash(data: Uint8Array, hash: Sha256 = sha256): Uint8Array {
  const prefixed = new Uint8Array(data.length + 1)
  prefixed.set(data, 1)
  return hash(prefixed)
}

/** RFC 6962 2.1: SHA-256(0x01 ‖ left ‖ right). */
export function nodeHash(left: Uint8Array, right: Uint8Array, hash: Sha256 = sha256): Uint8Array {
  const joined = new Uint8Array(65)
  joined[0] = 1
  joined.set(left, 1)
  joined.set(right, 33)
  return hash(joined)
}

/** RFC 6962 2.1: the hash of no bytes. */
export function emptyRoot(hash: Sha256 = sha256): Uint8Array {
  return hash(new Uint8Array(0))
}

/**
 * The state that a log needs to append: the roots of the perfect subtrees of its leaves, largest
 * first, one for each 1 bit of `size`. Size up to 2^53 - 1, so no 32-bit operators here.
 */
export type Frontier = { readonly size: number; readonly nodes: readonly Uint8Array[] }

export const EMPTY_FRONTIER: Frontier = { size: 0, nodes: [] }

export type AppendOptions = {
  readonly hash?: Sha256
  /**
   * Called for each interior node that the leaf completes, from the lowest. `height` is at least 1;
   * the node at `index` covers leaves [index * 2^height, (index + 1) * 2^height).
   */
  readonly onNode?: (height: number, index: number, hash: Uint8Array) => void
}

/** The frontier after one more leaf; the given one is not changed. */
export function appendLeaf(
  frontier: Frontier,
  leaf: Uint8Array,
  options: AppendOptions = {},
): Frontier {
  const nodes = frontier.nodes.slice()
  let node = leaf
  let index = frontier.size
  // Each trailing 1 bit of the size is a waiting left sibling, as carries are in an addition.
  for (let height = 1; index % 2 === 1; height++) {
    const left = nodes.pop()
    if (left === undefined) throw new ProofError('malformed_frontier', 'too few nodes for its size')
    node = nodeHash(left, node, options.hash)
    index = (index - 1) / 2
    options.onNode?.(height, index, node)
  }
  nodes.push(node)
  return { size: requireSize(frontier.size + 1), nodes }
}

/** The tree root: the subtrees joined from the right. */
export function frontierRoot(frontier: Frontier, hash: Sha256 = sha256): Uint8Array {
  return joinSubtrees(frontier.nodes, hash)
}

/** The root over perfect subtrees of falling size (RFC 6962 2.1 splits off the largest first). */
export function joinSubtrees(nodes: readonly Uint8Array[], hash: Sha256 = sha256): Uint8Array {
  let root: Uint8Array | undefined
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = nodes[i]
    if (node !== undefined) root = root === undefined ? node : nodeHash(node, root, hash)
  }
  return root ?? emptyRoot(hash)
}

/** Encodes a frontier: eight bytes of size, big-endian, then the 32-byte nodes. */
export function encodeFrontier(frontier: Frontier): Uint8Array {
  const bytes = new Uint8Array(8 + 32 * frontier.nodes.length)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(frontier.size))
  frontier.nodes.forEach((node, i) => {
    bytes.set(node, 8 + 32 * i)
  })
  return bytes
}

/** Decodes a frontier. Throws ProofError `malformed_frontier` unless each 1 bit has its node. */
export function decodeFrontier(bytes: Uint8Array): Frontier {
  if (bytes.length < 8) throw new ProofError('malformed_frontier', 'shorter than its size field')
  const size = Number(new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0))
  if (!Number.isSafeInteger(size)) throw new ProofError('malformed_frontier', 'size above 2^53')
  const count = subtreeHeights(size).length
  if (bytes.length !== 8 + 32 * count) {
    throw new ProofError('malformed_frontier', `a log of ${size} has ${count} nodes`)
  }
  const nodes = Array.from({ length: count }, (_, i) => bytes.slice(8 + 32 * i, 40 + 32 * i))
  return { size, nodes }
}

/** The heights of the perfect subtrees of a tree with `size` leaves, largest first. */
export function subtreeHeights(size: number): number[] {
  const heights: number[] = []
  let rest = size
  for (let height = 0; rest > 0; height++) {
    if (rest % 2 === 1) heights.unshift(height)
    rest = Math.floor(rest / 2)
  }
  return heights
}

/** Returns `size`. Throws ProofError `out_of_range` unless it is a non-negative safe integer. */
export function requireSize(size: number): number {
  if (!Number.isSafeInteger(size) || size < 0) {
    throw new ProofError('out_of_range', `not a tree size: ${size}`)
  }
  return size
}
