// Recognises the documents of a file and verifies each with @custos/proof and the given keys.

import {
  type Breadcrumb,
  breadcrumbId,
  type Check,
  type Checkpoint,
  detectEnvelope,
  type Envelope,
  fromHex,
  isBreadcrumb,
  type PublishedKey,
  parseTlogProof,
  readKeys,
  sha256,
  toHex,
  type Verdict,
  verifyCheckpoint,
  verifyEnvelope,
  verifyInclusion,
} from '@custos/proof'
import { CommandError, UsageError } from './command.ts'

type Document =
  | { readonly kind: 'json'; readonly where: string; readonly envelope: Envelope }
  | { readonly kind: 'checkpoint'; readonly where: string; readonly text: string }
  | { readonly kind: 'tlog_proof'; readonly where: string; readonly text: string }
  | { readonly kind: 'unknown'; readonly where: string; readonly reason: string }

const TLOG_PROOF = 'c2sp.org/tlog-proof@'
// A signed note: the text, an empty line, lines that start with an em dash.
const SIGNED_NOTE = /^[^\n{[]+\n[0-9]+\n[^\n]+\n[\s\S]*\n— /

/** The documents of a file. `where` is the part of the file, empty for the whole file. */
export function readDocuments(text: string): Document[] {
  if (text.startsWith(TLOG_PROOF)) return [{ kind: 'tlog_proof', where: '', text }]
  if (SIGNED_NOTE.test(text)) return [{ kind: 'checkpoint', where: '', text }]
  const whole = parse(text)
  if (whole !== undefined) return [recogniseDocument(whole, '')]
  return readLines(text)
}

function readLines(text: string): Document[] {
  const lines = text.split('\n').map((line, i) => ({ line: line.trim(), where: `line ${i + 1}` }))
  const filled = lines.filter(({ line }) => line !== '')
  if (filled.length < 2) return [{ kind: 'unknown', where: '', reason: 'not JSON' }]
  const values = filled.map(({ line, where }) => ({ where, value: parse(line) }))
  // Log entries are verified as one sequence, and a manifest together with its certificates.
  const chain = detectEnvelope(values.map(({ value }) => value))
  const whole = chain?.type === 'breadcrumbs' || chain?.type === 'erasure_manifest'
  if (chain && whole) return [{ kind: 'json', where: '', envelope: chain }]
  return values
    .filter(({ value }, i) => i > 0 || !isExportHeader(value))
    .map(({ value, where }) =>
      value === undefined
        ? { kind: 'unknown', where, reason: 'not JSON' }
        : recogniseDocument(value, where),
    )
}

function recogniseDocument(value: unknown, where: string): Document {
  const envelope = detectEnvelope(value)
  if (envelope) return { kind: 'json', where, envelope }
  return { kind: 'unknown', where, reason: 'it holds nothing that can be verified' }
}

function isExportHeader(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'custos_export' in value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export interface TrustedInputs {
  readonly keys: readonly PublishedKey[]
  /** The log entry that a tlog-proof proves: such a proof names the entry by position only. */
  readonly entry: unknown
}

/** The verdict on one document; malformed documents are invalid, they do not throw. */
export async function verifyDocument(document: Document, trust: TrustedInputs): Promise<Verdict> {
  switch (document.kind) {
    case 'json':
      return verifyEnvelope(document.envelope, { keys: trust.keys })
    case 'checkpoint':
      return verifyCheckpointText(document.text, trust.keys)
    case 'tlog_proof':
      return verifyTlogProof(document.text, trust)
    case 'unknown':
      return toVerdict('unknown', [{ name: 'recognised', ok: false, detail: document.reason }])
  }
}

async function verifyCheckpointText(text: string, keys: readonly PublishedKey[]): Promise<Verdict> {
  const { checks, signers } = await verifySignedNote(text, keys)
  return toVerdict('checkpoint', checks, signers)
}

interface CheckpointVerdict {
  readonly checks: readonly Check[]
  readonly signers: readonly string[]
  /** Present if a known key signed the checkpoint. */
  readonly checkpoint?: Checkpoint
}

// A signed note names its key by a short hash, so each published checkpoint key is tried.
async function verifySignedNote(
  text: string,
  keys: readonly PublishedKey[],
): Promise<CheckpointVerdict> {
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

async function verifyTlogProof(text: string, { keys, entry }: TrustedInputs): Promise<Verdict> {
  let proof: ReturnType<typeof parseTlogProof>
  try {
    proof = parseTlogProof(text)
  } catch (error) {
    const detail = error instanceof Error ? error.message : 'malformed'
    return toVerdict('tlog_proof', [{ name: 'form', ok: false, detail }])
  }
  const { checks, signers, checkpoint } = await verifySignedNote(proof.checkpoint, keys)
  if (!checkpoint) return toVerdict('tlog_proof', checks)
  if (!isBreadcrumb(entry)) {
    const detail = entry === undefined ? 'pass the log entry with --entry FILE' : 'not a log entry'
    return toVerdict('tlog_proof', [...checks, { name: 'entry', ok: false, detail }])
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
  return toVerdict('tlog_proof', found, signers)
}

function leafOf(entry: Breadcrumb): Uint8Array {
  try {
    return fromHex(breadcrumbId(entry))
  } catch {
    // Without a canonical form there is no hash, so nothing can match.
    return new Uint8Array(0)
  }
}

function toVerdict(
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

// A key id is the start of the digest of the key; older ids are longer.
const ID_LENGTHS = [32, 16] as const
const PURPOSES = [
  'decision',
  'provenance',
  'checkpoint',
  'erasure',
  'record',
  'cgr_attestation',
] as const

/** The keys in an answer of GET /v1/gcrumbs/public_key, or in its bare list. */
export function parseKeyList(text: string, path: string): readonly PublishedKey[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw new CommandError(`${path} is not JSON`)
  }
  const list =
    typeof parsed === 'object' && parsed !== null && 'keys' in parsed ? parsed.keys : parsed
  const keys = readKeys(list)
  if (keys.length === 0) throw new CommandError(`${path} lists no keys`)
  return keys
}

/** One public key from the command line: trusted for every purpose and at every time. */
export function keysFromHex(hex: string): PublishedKey[] {
  if (!/^[0-9a-fA-F]{64}$/.test(hex)) throw new UsageError('--key takes 64 hex digits')
  const public_key = hex.toLowerCase()
  const digest = toHex(sha256(fromHex(public_key)))
  return ID_LENGTHS.flatMap((length) =>
    PURPOSES.map((purpose) => ({
      key_id: digest.slice(0, length),
      purpose,
      public_key,
      valid_from: '1970-01-01T00:00:00Z',
      retired_at: null,
    })),
  )
}
