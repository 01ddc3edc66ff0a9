// Verifies proofs about a tenant's log: entries, epochs, inclusion, consistency.

import type { Json, JsonObject } from '../core/canonical.ts'
import type { Sha256 } from '../core/digest.ts'
import { equalBytes, fromHex, readHex, toHex } from '../core/encoding.ts'
import { findKey, type PublishedKey } from '../core/keys.ts'
import { findMismatch, isCount, isObject, isText, isTextList, optional } from '../core/shape.ts'
import {
  addCheck,
  finishVerdict,
  malformedVerdict,
  startVerdict,
  type Verdict,
  type VerdictDraft,
} from '../core/verdict.ts'
import { type Breadcrumb, breadcrumbId, isBreadcrumb, verifyBreadcrumbs } from './breadcrumb.ts'
import { appendLines } from './cosignature.ts'
import { verifyConsistency, verifyInclusion } from './merkle-path.ts'
import { type Checkpoint, parseCheckpoint, signaturesBy, verifyCheckpoint } from './note.ts'
import { parseTlogProof } from './tlog-proof.ts'

/** A signed tree head on the wire. Hashes are hex, `checkpoint` is the whole signed note. */
export type Epoch = {
  readonly epoch_number: number
  readonly tree_size: number
  readonly root_hash: string
  readonly checkpoint: string
  readonly consistency?: {
    readonly from_epoch: number | null
    readonly path: readonly string[]
  } | null
  readonly created_at: string
}

/** Proves that an entry is in an epoch. Hashes are hex; the path starts at the leaf's sibling. */
export type InclusionProof = {
  readonly included: true
  readonly breadcrumb_seq: number
  readonly epoch_number: number
  readonly breadcrumb: Breadcrumb
  readonly leaf_hash: string
  readonly audit_path: readonly string[]
  readonly tree_size: number
  readonly root_hash: string
  readonly checkpoint: string
  readonly tlog_proof: string
}

/** The published keys and, if the caller has one, a faster SHA-256 as `hash`. */
export type LogContext = { readonly keys: readonly PublishedKey[]; readonly hash?: Sha256 }

/** Verifies ids, links and numbers of consecutive log entries. */
export function verifyBreadcrumbList(value: unknown, context: LogContext): Verdict {
  if (!Array.isArray(value)) return malformedVerdict('breadcrumbs', 'not a list')
  if (value.length === 0) return malformedVerdict('breadcrumbs', 'an empty list')
  const findings = startVerdict()
  const { hash } = context
  const verdict = verifyBreadcrumbs(value, hash === undefined ? {} : { hash })
  const detail = verdict.ok ? undefined : `${verdict.reason} at index ${verdict.index}`
  addCheck(findings, 'breadcrumbs', verdict.ok, detail)
  findings.notChecked.push('inclusion: a list alone does not show that a signed log holds it')
  return finishVerdict('breadcrumbs', findings)
}

const EPOCH_SHAPE = {
  epoch_number: isCount,
  tree_size: isCount,
  root_hash: isText,
  checkpoint: isText,
  created_at: optional(isText),
}

/** Verifies that an epoch equals its checkpoint, which a published checkpoint key signed. */
export async function verifyEpoch(epoch: unknown, context: LogContext): Promise<Verdict> {
  const misfit = isObject(epoch) ? findMismatch(epoch, EPOCH_SHAPE) : 'not an object'
  if (!isObject(epoch) || misfit !== null) return malformedVerdict('epoch', misfit ?? '')
  const findings = startVerdict()
  await checkHead(findings, epoch, context.keys)
  if (epoch['consistency']) findings.notChecked.push('consistency: needs the earlier epoch too')
  findings.notChecked.push('epoch_number, created_at: not in the checkpoint')
  return finishVerdict('epoch', findings)
}

const PROOF_SHAPE = {
  ...EPOCH_SHAPE,
  breadcrumb_seq: isCount,
  leaf_hash: isText,
  audit_path: isTextList,
  tlog_proof: optional(isText),
}

/** Verifies entry, path, root and signature of an inclusion proof, and that its parts agree. */
export async function verifyInclusionProof(proof: unknown, context: LogContext): Promise<Verdict> {
  if (!isObject(proof)) return malformedVerdict('proof', 'not an object')
  if (proof['included'] === false) {
    const findings = startVerdict()
    addCheck(findings, 'included', false, 'the epoch ends before the entry')
    return finishVerdict('proof', findings)
  }
  const misfit = findMismatch(proof, PROOF_SHAPE)
  const path = readPath(proof['audit_path'])
  if (misfit !== null) return malformedVerdict('proof', misfit)
  if (path === null) return malformedVerdict('proof', 'audit_path')
  const crumb: unknown = proof['breadcrumb']
  if (!isBreadcrumb(crumb)) return malformedVerdict('proof', 'breadcrumb')

  const findings = startVerdict()
  const leaf = checkLeaf(findings, proof, crumb, context.hash)
  const claim = {
    leafHash: leaf,
    index: Number(proof['breadcrumb_seq']),
    size: Number(proof['tree_size']),
    path,
    root: readHex(proof['root_hash']) ?? new Uint8Array(0),
    ...(context.hash === undefined ? {} : { hash: context.hash }),
  }
  addCheck(findings, 'inclusion', verifyInclusion(claim), 'the path does not lead to the root')
  checkAliases(findings, proof)
  checkText(findings, proof, path)
  await checkHead(findings, proof, context.keys)
  return finishVerdict('proof', findings)
}

/** Verifies that the epoch `to` extends the epoch `from`, both of them signed and of one log. */
export async function verifyEpochConsistency(
  envelope: { readonly from: unknown; readonly to: unknown; readonly path: unknown },
  context: LogContext,
): Promise<Verdict> {
  const { from, to } = envelope
  if (!isObject(from) || findMismatch(from, EPOCH_SHAPE) !== null) {
    return malformedVerdict('consistency', 'from')
  }
  if (!isObject(to) || findMismatch(to, EPOCH_SHAPE) !== null)
    return malformedVerdict('consistency', 'to')
  const path = readPath(envelope.path)
  if (path === null) return malformedVerdict('consistency', 'path')

  const findings = startVerdict()
  const older = await checkHead(findings, from, context.keys, 'from.')
  const newer = await checkHead(findings, to, context.keys, 'to.')
  if (older !== null && newer !== null) {
    addCheck(findings, 'origin', older.origin === newer.origin, 'two different logs')
    const numbered = Number(to['epoch_number']) - Number(from['epoch_number'])
    if (Math.sign(numbered) !== Math.sign(newer.size - older.size))
      addCheck(findings, 'epoch_number', false, 'not in order')
    const claim = {
      from: older.size,
      fromRoot: older.root,
      to: newer.size,
      toRoot: newer.root,
      path,
      ...(context.hash === undefined ? {} : { hash: context.hash }),
    }
    addCheck(
      findings,
      'consistency',
      verifyConsistency(claim),
      'the later does not extend the earlier',
    )
  }
  return finishVerdict('consistency', findings)
}

// Only the checkpoint is signed; the members around it must repeat it exactly.
async function checkHead(
  findings: VerdictDraft,
  head: JsonObject,
  keys: readonly PublishedKey[],
  prefix = '',
): Promise<Checkpoint | null> {
  const text = String(head['checkpoint'])
  const checkpoint = tryParse(() => parseCheckpoint(text))
  if (checkpoint === null) {
    addCheck(findings, `${prefix}checkpoint`, false, 'not a signed checkpoint')
    return null
  }
  const sameSize = head['tree_size'] === checkpoint.size
  addCheck(findings, `${prefix}tree_size`, sameSize, 'not that of the checkpoint')
  const sameRoot = head['root_hash'] === toHex(checkpoint.root)
  addCheck(findings, `${prefix}root_hash`, sameRoot, 'not that of the checkpoint')
  const { origin } = checkpoint
  // Older exports lack some of these. The generation 0 does not appear in the origin.
  for (const [name, value] of [
    ['merkle_root', head['root_hash']],
    ['n_leaves', head['tree_size']],
    ['origin', origin],
    ['generation', origin.endsWith(`/${head['generation']}`) ? head['generation'] : 0],
  ] as const)
    if (![undefined, value].includes(head[name]))
      addCheck(findings, prefix + name, false, 'not that of the checkpoint')
  await checkSigner(findings, checkpoint, { text, at: head['created_at'], keys, prefix })
  return checkpoint
}

// A note names its key only by a hash, so the signer is searched for in the published list.
async function checkSigner(
  findings: VerdictDraft,
  checkpoint: Checkpoint,
  given: { text: string; at: Json | undefined; keys: readonly PublishedKey[]; prefix: string },
): Promise<void> {
  const signer = given.keys.find((key) => {
    const publicKey = readHex(key.public_key)
    return publicKey !== null && signaturesBy(checkpoint, publicKey).length > 0
  })
  if (signer === undefined) {
    addCheck(findings, `${given.prefix}signature`, false, 'by no published key')
    addCheck(findings, `${given.prefix}key_known`, false, 'unknown_key')
    return
  }
  const { ok } = await verifyCheckpoint(given.text, { publicKey: fromHex(signer.public_key) })
  addCheck(findings, `${given.prefix}signature`, ok, 'does not match the checkpoint')
  const key = findKey(given.keys, {
    key_id: signer.key_id,
    public_key: signer.public_key,
    purpose: 'checkpoint',
    ...(isText(given.at) ? { at: given.at } : {}),
  })
  const known = !isText(key)
  addCheck(findings, `${given.prefix}key_known`, known, isText(key) ? key : undefined)
  if (ok && known && !findings.validWith.includes(signer.key_id)) {
    findings.validWith.push(signer.key_id)
  }
}

function checkLeaf(
  findings: VerdictDraft,
  proof: JsonObject,
  crumb: Breadcrumb,
  hash: Sha256 | undefined,
): Uint8Array {
  const id = tryParse(() => breadcrumbId(crumb, hash))
  addCheck(findings, 'breadcrumb_id', id === crumb.breadcrumb_id, 'not the hash of the breadcrumb')
  addCheck(findings, 'leaf_hash', id === proof['leaf_hash'], 'not the hash of the breadcrumb')
  const sameSeq = crumb.seq === proof['breadcrumb_seq']
  addCheck(findings, 'breadcrumb_seq', sameSeq, 'not that of the breadcrumb')
  return id === null ? new Uint8Array(0) : fromHex(id)
}

// Older clients read these aliases, so they must have the values of the canonical names.
function checkAliases(findings: VerdictDraft, proof: JsonObject): void {
  if (proof['leaf'] !== undefined && proof['leaf'] !== proof['leaf_hash']) {
    addCheck(findings, 'leaf', false, 'differs from leaf_hash')
  }
  const path = proof['audit_path']
  if (JSON.stringify(proof['proof'] ?? path) !== JSON.stringify(path))
    addCheck(findings, 'proof', false, 'differs from audit_path')
}

function checkText(findings: VerdictDraft, proof: JsonObject, path: readonly Uint8Array[]): void {
  const text = proof['tlog_proof'] ?? null
  if (!isText(text)) return
  const parsed = tryParse(() => parseTlogProof(text))
  const agrees =
    parsed !== null &&
    parsed.index === proof['breadcrumb_seq'] &&
    isCosigned(parsed.checkpoint, String(proof['checkpoint'])) &&
    parsed.path.length === path.length &&
    parsed.path.every((hash, i) => equalBytes(hash, path[i] ?? new Uint8Array(0)))
  addCheck(findings, 'tlog_proof', agrees, 'differs from the proof beside it')
}

// The note in the text may have signature lines of witnesses after the checkpoint.
const isCosigned = (note: string, checkpoint: string): boolean =>
  tryParse(() => appendLines(checkpoint, note.slice(checkpoint.length))) === note

function readPath(value: unknown): Uint8Array[] | null {
  if (!isTextList(value)) return null
  const path = value.map(readHex).filter((hash) => hash?.length === 32)
  return path.length === value.length ? path.filter((hash) => hash !== null) : null
}

function tryParse<T>(parse: () => T): T | null {
  try {
    return parse()
  } catch {
    return null
  }
}
