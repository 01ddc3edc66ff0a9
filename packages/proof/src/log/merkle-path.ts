// Merkle paths: built from stored subtree hashes (RFC 6962), verified as in RFC 9162.
import { type Sha256, sha256 } from '../core/digest.ts'
import { equalBytes } from '../core/encoding.ts'
import { ProofError } from '../core/errors.ts'
import { joinSubtrees, nodeHash, requireSize, subtreeHeights } from './merkle.ts'

/**
 * Returns the hash of the perfect subtree at (height, index), which covers leaves
 * [index * 2^height, (index + 1) * 2^height); height 0 is the leaf hash itself. It is called only
 * for subtrees that lie wholly within the requested size, O(log size) times.
 */
export type ReadTreeNode = (height: number, index: number) => Promise<Uint8Array> | Uint8Array

/** The root the log had at `size`. */
export function rootAt(
  size: number,
  nodeAt: ReadTreeNode,
  hash: Sha256 = sha256,
): Promise<Uint8Array> {
  return hashRange(0, requireSize(size), nodeAt, hash)
}

/**
 * The inclusion path PATH(index, D[size]) of RFC 6962 2.1.1, from the leaf's sibling upwards.
 * Throws ProofError `out_of_range` unless 0 <= index < size.
 */
export async function inclusionPath(
  index: number,
  size: number,
  nodeAt: ReadTreeNode,
  hash: Sha256 = sha256,
): Promise<Uint8Array[]> {
  if (requireSize(index) >= requireSize(size)) {
    throw new ProofError('out_of_range', `leaf ${index} is not in a tree of ${size}`)
  }
  const path: Uint8Array[] = []
  let [begin, end] = [0, size]
  while (end - begin > 1) {
    const middle = begin + splitOf(end - begin)
    if (index < middle) {
      path.push(await hashRange(middle, end, nodeAt, hash))
      end = middle
    } else {
      path.push(await hashRange(begin, middle, nodeAt, hash))
      begin = middle
    }
  }
  return path.reverse()
}

/**
 * The consistency path PROOF(from, D[to]) of RFC 6962 2.1.2. It is empty if `from` equals `to` or
 * is 0, because then there is nothing to prove.
 * Throws ProofError `out_of_range` unless 0 <= from <= to.
 */
export async function consistencyPath(
  from: number,
  to: number,
  nodeAt: ReadTreeNode,
  hash: Sha256 = sha256,
): Promise<Uint8Array[]> {
  if (requireSize(from) > requireSize(to)) {
    throw new ProofError('out_of_range', `a tree of ${to} does not extend one of ${from}`)
  }
  if (from === 0 || from === to) return []
  const path: Uint8Array[] = []
  let [begin, end] = [0, to]
  // The old tree ends inside [begin, end) until the descent meets its last perfect subtree.
  while (from !== end) {
    const middle = begin + splitOf(end - begin)
    if (from <= middle) {
      path.push(await hashRange(middle, end, nodeAt, hash))
      end = middle
    } else {
      path.push(await hashRange(begin, middle, nodeAt, hash))
      begin = middle
    }
  }
  // When that subtree is the whole old tree, the verifier already holds its hash: the old root.
  if (begin !== 0) path.push(await hashRange(begin, end, nodeAt, hash))
  return path.reverse()
}

export type InclusionClaim = {
  readonly leafHash: Uint8Array
  readonly index: number
  readonly size: number
  readonly path: readonly Uint8Array[]
  readonly root: Uint8Array
  readonly hash?: Sha256
}

/** Verifies an inclusion path by RFC 9162 2.1.3.2. False for malformed claims too. */
export function verifyInclusion(claim: InclusionClaim): boolean {
  const { index, size, path, hash } = claim
  if (!isSize(index) || !isSize(size) || index >= size) return false
  if (![claim.leafHash, claim.root, ...path].every(isHash)) return false
  let [fn, sn, root] = [index, size - 1, claim.leafHash]
  for (const sibling of path) {
    if (sn === 0) return false
    if (fn % 2 === 1 || fn === sn) {
      root = nodeHash(sibling, root, hash)
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, half(sn)]
    } else {
      root = nodeHash(root, sibling, hash)
    }
    ;[fn, sn] = [half(fn), half(sn)]
  }
  return sn === 0 && equalBytes(root, claim.root)
}

export type ConsistencyClaim = {
  readonly from: number
  readonly fromRoot: Uint8Array
  readonly to: number
  readonly toRoot: Uint8Array
  readonly path: readonly Uint8Array[]
  readonly hash?: Sha256
}

/**
 * Verifies a consistency path by RFC 9162 2.1.4.2, for 0 < from <= to. Equal sizes need equal roots
 * and an empty path. False for `from` 0: every tree extends the empty one, so that proves nothing.
 */
export function verifyConsistency(claim: ConsistencyClaim): boolean {
  const { from, fromRoot, to, toRoot, path } = claim
  if (!isSize(from) || !isSize(to) || from === 0 || from > to) return false
  if (from === to) return path.length === 0 && equalBytes(fromRoot, toRoot)
  return [fromRoot, toRoot, ...path].every(isHash) && climbsToBothRoots(claim)
}

// The algorithm of RFC 9162 2.1.4.2 from the last node of the old tree. `fr` and `sr` become the
// roots of the old and the new tree.
function climbsToBothRoots(claim: ConsistencyClaim): boolean {
  const { from, fromRoot, to, hash } = claim
  const path = isPowerOfTwo(from) ? [fromRoot, ...claim.path] : claim.path
  const [first, ...rest] = path
  if (first === undefined) return false
  let [fn, sn] = [from - 1, to - 1]
  while (fn % 2 === 1) [fn, sn] = [half(fn), half(sn)]
  let [fr, sr] = [first, first]
  for (const node of rest) {
    if (sn === 0) return false
    if (fn % 2 === 1 || fn === sn) {
      fr = nodeHash(node, fr, hash)
      sr = nodeHash(node, sr, hash)
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, half(sn)]
    } else {
      sr = nodeHash(sr, node, hash)
    }
    ;[fn, sn] = [half(fn), half(sn)]
  }
  return sn === 0 && equalBytes(fr, fromRoot) && equalBytes(sr, claim.toRoot)
}

// Subtrees are aligned to their own size, so each is one (height, index) of the store.
async function hashRange(
  begin: number,
  end: number,
  nodeAt: ReadTreeNode,
  hash: Sha256,
): Promise<Uint8Array> {
  const nodes: Uint8Array[] = []
  let start = begin
  for (const height of subtreeHeights(end - begin)) {
    const width = 2 ** height
    nodes.push(await nodeAt(height, start / width))
    start += width
  }
  return joinSubtrees(nodes, hash)
}

/** The largest power of two below `size`: where RFC 6962 2.1 splits a tree. */
function splitOf(size: number): number {
  let split = 1
  while (split * 2 < size) split *= 2
  return split
}

function half(n: number): number {
  return Math.floor(n / 2)
}

function isPowerOfTwo(size: number): boolean {
  return subtreeHeights(size).length === 1
}

function isSize(size: number): boolean {
  return Number.isSafeInteger(size) && size >= 0
}

function isHash(bytes: Uint8Array): boolean {
  return bytes.length === 32
}
