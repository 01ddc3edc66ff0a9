// Proof that a source belongs to a corpus: built from its tree, verified without the tree.
import type { JsonObject } from '../core/canonical.ts'
import { type Sha256, sha256 } from '../core/digest.ts'
import { readHex, toHex } from '../core/encoding.ts'
import { findMismatch, isCount, isObject, isText, isTextList, optional } from '../core/shape.ts'
import {
  addCheck,
  finishVerdict,
  malformedVerdict,
  startVerdict,
  type Verdict,
  type VerdictDraft,
} from '../core/verdict.ts'
import { appendLeaf, EMPTY_FRONTIER, frontierRoot } from '../log/merkle.ts'
import { inclusionPath, verifyInclusion } from '../log/merkle-path.ts'
import { type CorpusSource, STEP_LEAVES, sourceLeaf } from './corpus.ts'

/** The hash of a sibling and its side; `L` is left. */
export type CorpusPathStep = readonly [hash: string, side: 'L' | 'R']

/** A proof on the wire. Hashes are lower-case hex; the path runs from the leaf's sibling up. */
export type CorpusProof = {
  readonly included: true
  readonly corpus_id: string
  readonly source_id: string
  readonly leaf: string
  readonly leaf_index: number
  readonly tree_size: number
  readonly audit_path: readonly string[]
  /** `audit_path` with the side of each sibling, for clients that read this member. */
  readonly proof: readonly CorpusPathStep[]
  readonly merkle_root: string
  readonly source: CorpusSource
}

/** The Merkle tree of the sources of one corpus. */
export type CorpusTree = {
  readonly size: number
  readonly root: Uint8Array
  /** The hash of the perfect subtree over leaves [index * 2^height, (index + 1) * 2^height). */
  readonly nodeAt: (height: number, index: number) => Uint8Array
}

/** Hashes every source. Yields between steps, so that a server can do other work. */
export function* corpusTree(
  sources: readonly JsonObject[],
  hash: Sha256 = sha256,
): Generator<void, CorpusTree> {
  const nodes = new Map<string, Uint8Array>()
  const onNode = (height: number, index: number, node: Uint8Array) => {
    nodes.set(`${height}/${index}`, node)
  }
  let frontier = EMPTY_FRONTIER
  for (const source of sources) {
    const leaf = sourceLeaf(source, hash)
    onNode(0, frontier.size, leaf)
    frontier = appendLeaf(frontier, leaf, { hash, onNode })
    if (frontier.size % STEP_LEAVES === 0) yield
  }
  const nodeAt = (height: number, index: number) =>
    nodes.get(`${height}/${index}`) ?? new Uint8Array(0)
  return { size: frontier.size, root: frontierRoot(frontier, hash), nodeAt }
}

/** The leaf at `index` and its path. Throws ProofError `out_of_range` beyond the tree. */
export async function corpusPath(
  tree: CorpusTree,
  index: number,
  hash: Sha256 = sha256,
): Promise<Pick<CorpusProof, 'leaf' | 'audit_path' | 'proof'>> {
  const path = await inclusionPath(index, tree.size, tree.nodeAt, hash)
  const audit_path = path.map(toHex)
  const leaf = toHex(tree.nodeAt(0, index))
  return { leaf, audit_path, proof: withSides(audit_path, index, tree.size) }
}

/** Adds the side of each sibling, by the algorithm of RFC 9162 2.1.3.2 without its hashes. */
function withSides(path: readonly string[], index: number, size: number): CorpusPathStep[] {
  let [fn, sn] = [index, size - 1]
  return path.map((sibling) => {
    const left = fn % 2 === 1 || fn === sn
    if (left) while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)]
    ;[fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)]
    return [sibling, left ? 'L' : 'R']
  })
}

const SHAPE = {
  corpus_id: optional(isText),
  source_id: optional(isText),
  leaf: isText,
  leaf_index: isCount,
  tree_size: isCount,
  audit_path: isTextList,
  proof: optional(Array.isArray),
  merkle_root: isText,
  source: isObject,
}

/**
 * Verifies that the source shown is the leaf, and that the path leads from it to the root. The root
 * is in the corpus record: pass its document as `corpus`, and verify that as a record. Never
 * throws.
 */
export function verifyCorpusProof(proof: unknown, corpus?: unknown): Verdict {
  if (!isObject(proof)) return malformedVerdict('corpus_proof', 'not an object')
  const findings = startVerdict()
  if (proof['included'] !== true) {
    addCheck(findings, 'included', false, 'the corpus has no such source')
    return finishVerdict('corpus_proof', findings)
  }
  const misfit = findMismatch(proof, SHAPE)
  if (misfit !== null) return malformedVerdict('corpus_proof', misfit)
  const leaf = leafOf(proof['source'])
  if (leaf === null) return malformedVerdict('corpus_proof', 'source')

  addCheck(findings, 'leaf', proof['leaf'] === toHex(leaf), 'not the hash of the source')
  const path = Array.isArray(proof['audit_path']) ? proof['audit_path'].map(readHex) : []
  const known = path.filter((hash) => hash !== null)
  const [index, size] = [Number(proof['leaf_index']), Number(proof['tree_size'])]
  const root = readHex(proof['merkle_root']) ?? new Uint8Array(0)
  const leads =
    known.length === path.length &&
    verifyInclusion({ leafHash: leaf, index, size, path: known, root })
  addCheck(findings, 'inclusion', leads, 'the path does not lead to the root')
  checkRepeated(findings, proof)
  checkCorpus(findings, proof, corpus)
  return finishVerdict('corpus_proof', findings)
}

function leafOf(source: unknown): Uint8Array | null {
  try {
    return isObject(source) ? sourceLeaf(source) : null
  } catch {
    return null
  }
}

// Values that a proof repeats must agree.
function checkRepeated(findings: VerdictDraft, proof: JsonObject): void {
  const { source, source_id, audit_path, proof: steps = null } = proof
  const same = !isText(source_id) || (isObject(source) && source['id'] === source_id)
  addCheck(findings, 'source_id', same, 'not that of the source')
  if (steps === null || !isTextList(audit_path)) return
  const sides = withSides(audit_path, Number(proof['leaf_index']), Number(proof['tree_size']))
  const agrees = JSON.stringify(steps) === JSON.stringify(sides)
  addCheck(findings, 'proof', agrees, 'differs from audit_path')
}

function checkCorpus(findings: VerdictDraft, proof: JsonObject, corpus: unknown): void {
  if (!isObject(corpus)) {
    findings.notChecked.push(
      'the tree: compare merkle_root and tree_size with merkle_root and source_count of the corpus',
    )
    return
  }
  const root = proof['merkle_root'] === corpus['merkle_root']
  addCheck(findings, 'merkle_root', root, 'not that of the corpus')
  const size = proof['tree_size'] === corpus['source_count']
  addCheck(findings, 'tree_size', size, 'not the number of sources of the corpus')
  const id = proof['corpus_id'] ?? corpus['corpus_id']
  addCheck(findings, 'corpus_id', id === corpus['corpus_id'], 'names another corpus')
}
