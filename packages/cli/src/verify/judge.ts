// Judges one document against the keys, with nothing but the published proof package.

import {
  type Breadcrumb,
  breadcrumbId,
  type Check,
  type Checkpoint,
  fromHex,
  isBreadcrumb,
  type PublishedKey,
  parseTlogProof,
  type Verdict,
  verifyCheckpoint,
  verifyEnvelope,
  verifyInclusion,
} from '@custos/proof'
import type { Document } from './documents.ts'

export interface Trust {
  readonly keys: readonly PublishedKey[]
  /** The log entry that a proof in text form is about: it names the entry by position only. */
  readonly entry: unknown
}

/** Never throws for what a document holds. */
export async function judge(document: Document, trust: Trust): Promise<Verdict> {
  switch (document.kind) {
    case 'json':
      return verifyEnvelope(document.envelope, { keys: trust.keys })
    case 'checkpoint':
      return judgeNote(document.text, trust.keys)
    case 'tlog_proof':
      return judgeProof(document.text, trust)
    case 'unknown':
      return conclude('unknown', [{ name: 'recognised', ok: false, detail: document.reason }])
  }
}

async function judgeNote(text: string, keys: readonly PublishedKey[]): Promise<Verdict> {
  const { checks, signers } = await judgeCheckpoint(text, keys)
  return conclude('checkpoint', checks, signers)
}

interface JudgedCheckpoint {
  readonly checks: readonly Check[]
  readonly signers: readonly string[]
  /** Present when a known key signed it. */
  readonly checkpoint?: Checkpoint
}

// A note names its key by a short hash, so each published checkpoint key is tried.
async function judgeCheckpoint(
  text: string,
  keys: readonly PublishedKey[],
): Promise<JudgedCheckpoint> {
  let detail = 'unknown_key'
  for (const { key_id, purpose, public_key } of keys) {
    if (purpose !== 'checkpoint') continue
    const verdict = await verifyCheckpoint(text, { publicKey: fromHex(public_key) })
    if (verdict.ok && verdict.checkpoint)
      return {
        checks: [{ name: 'signature', ok: true }],
        signers: [key_id],
        checkpoint: verdict.checkpoint,
      }
    if (verdict.reason !== undefined && verdict.reason !== 'no_signature_by_key')
      detail = verdict.reason
  }
  return { checks: [{ name: 'signature', ok: false, detail }], signers: [] }
}

async function judgeProof(text: string, { keys, entry }: Trust): Promise<Verdict> {
  let proof: ReturnType<typeof parseTlogProof>
  try {
    proof = parseTlogProof(text)
  } catch (error) {
    const detail = error instanceof Error ? error.message : 'malformed'
    return conclude('tlog_proof', [{ name: 'form', ok: false, detail }])
  }
  const { checks, signers, checkpoint } = await judgeCheckpoint(proof.checkpoint, keys)
  if (!checkpoint) return conclude('tlog_proof', checks)
  if (!isBreadcrumb(entry)) {
    const detail = entry === undefined ? 'give the entry with --entry FILE' : 'not a log entry'
    return conclude('tlog_proof', [...checks, { name: 'entry', ok: false, detail }])
  }
  const leaf = leafOf(entry)
  const { size, root } = checkpoint
  const claim = { leafHash: leaf, index: proof.index, size, path: proof.path, root }
  const found: Check[] = [
    ...checks,
    { name: 'breadcrumb_id', ok: Buffer.from(leaf).toString('hex') === entry.breadcrumb_id },
    { name: 'position', ok: entry.seq === proof.index },
    { name: 'inclusion', ok: verifyInclusion(claim) },
  ]
  return conclude('tlog_proof', found, signers)
}

function leafOf(entry: Breadcrumb): Uint8Array {
  try {
    return fromHex(breadcrumbId(entry))
  } catch {
    // No canonical form, so no hash: nothing can match it.
    return new Uint8Array(0)
  }
}

function conclude(
  type: string,
  checks: readonly Check[],
  valid_with: readonly string[] = [],
): Verdict {
  const failed = checks.find(({ ok }) => !ok)
  const shared = { type, checks, not_checked: [], valid_with }
  if (!failed) return { valid: true, ...shared }
  const reason = failed.detail ? `${failed.name}: ${failed.detail}` : failed.name
  return { valid: false, ...shared, reason }
}
