// Recognises and verifies the documents in the text of a saved file, for `custos verify` and the
// verify page.
import { sha256 } from './core/digest.ts'
import { hasDuplicateKey } from './core/duplicate-keys.ts'
import { fromBase64, fromHex, toHex } from './core/encoding.ts'
import { type PublishedKey, readKeys } from './core/keys.ts'
import { isObject } from './core/shape.ts'
import type { Check, Verdict } from './core/verdict.ts'
import { UNSIGNED_CERTIFICATE_FIELDS } from './documents/certificate.ts'
import { detectEnvelope, type Envelope } from './envelope.ts'
import { type Breadcrumb, breadcrumbId, isBreadcrumb } from './log/breadcrumb.ts'
import { appendLines, checkWitnesses } from './log/cosignature.ts'
import { verifyInclusion } from './log/merkle-path.ts'
import { type Checkpoint, verifyCheckpoint } from './log/note.ts'
import { parseTlogProof } from './log/tlog-proof.ts'
import { isRunBundle, verifyRunBundle } from './runs/verify-bundle.ts'
import { verifyEnvelope } from './verify.ts'

export type SavedDocument =
  | {
      readonly kind: 'json'
      readonly where: string
      readonly envelope: Envelope
      /** The saved value, of which the envelope may contain only a part. */
      readonly saved?: unknown
    }
  | { readonly kind: 'checkpoint'; readonly where: string; readonly text: string }
  | { readonly kind: 'tlog_proof'; readonly where: string; readonly text: string }
  | { readonly kind: 'run'; readonly where: string; readonly lines: readonly unknown[] }
  | { readonly kind: 'unknown'; readonly where: string; readonly reason: string }

const TLOG_PROOF = 'c2sp.org/tlog-proof@'
// A signed note: its text, an empty line, then lines that start with an em dash.
const SIGNED_NOTE = /^[^\n{[]+\n[0-9]+\n[^\n]+\n[\s\S]*\n— /

/** Recognises the documents in a file. `where` names a part of the file; empty for all of it. */
export function readSavedDocuments(saved: string): SavedDocument[] {
  const text = withoutMark(saved)
  if (text.startsWith(TLOG_PROOF)) return [{ kind: 'tlog_proof', where: '', text }]
  if (SIGNED_NOTE.test(text)) return [{ kind: 'checkpoint', where: '', text }]
  const { value: whole, reason } = parse(text)
  if (reason === NOT_JSON) return readLines(text)
  if (reason !== null) return [{ kind: 'unknown', where: '', reason }]
  return isBundle(whole)
    ? whole.documents.map((document, i) => recogniseDocument(document, `document ${i + 1}`))
    : [recogniseDocument(whole, '')]
}

/** Whether a value is a bundle: `{"custos_bundle": 1, "documents": [...]}`, optionally `keys`. */
function isBundle(value: unknown): value is { readonly documents: readonly unknown[] } {
  return isObject(value) && value['custos_bundle'] === 1 && Array.isArray(value['documents'])
}

/** Removes the byte order mark with which some programs begin a text file. */
const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '')

function readLines(text: string): SavedDocument[] {
  const lines = text.split('\n').map((line, i) => ({ line: line.trim(), where: `line ${i + 1}` }))
  const filled = lines.filter(({ line }) => line !== '')
  // A file whose first lines are not JSON is not parsed further: it may have millions of lines.
  const first = filled.length < 2 ? [] : filled.slice(0, 100)
  if (first.every(({ line }) => parse(line).reason === NOT_JSON))
    return [{ kind: 'unknown', where: '', reason: NOT_JSON }]
  const values = filled.map(({ line, where }) => ({ where, ...parse(line) }))
  // If a line has a duplicate key, the file gets no other result.
  const doubled = values.flatMap(({ where, reason }): SavedDocument[] =>
    reason === null || reason === NOT_JSON ? [] : [{ kind: 'unknown', where, reason }],
  )
  if (doubled.length > 0) return doubled
  const read = values.map(({ value }) => value)
  if (isRunBundle(read)) return [{ kind: 'run', where: '', lines: read }]
  // Log entries are verified as one sequence, and a manifest together with its certificates.
  const chain = detectEnvelope(read)
  const whole = chain?.type === 'breadcrumbs' || chain?.type === 'erasure_manifest'
  if (chain && whole) return [{ kind: 'json', where: '', envelope: chain }]
  return values
    .filter(({ value }, i) => i > 0 || !isExportHeader(value))
    .map(({ value, where, reason }) =>
      reason === null
        ? recogniseDocument(value, where)
        : { kind: 'unknown', where, reason: NOT_JSON },
    )
}

function recogniseDocument(value: unknown, where: string): SavedDocument {
  const envelope = detectEnvelope(value)
  if (envelope) return { kind: 'json', where, envelope, saved: value }
  return { kind: 'unknown', where, reason: 'it holds nothing that can be verified' }
}

function isExportHeader(value: unknown): boolean {
  return isObject(value) && Object.hasOwn(value, 'custos_export')
}

const NOT_JSON = 'not JSON'

/** Parses JSON. `reason` says why the text was not accepted; null if `value` is valid. */
function parse(text: string): { value: unknown; reason: string | null } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { value: undefined, reason: NOT_JSON }
  }
  if (!hasDuplicateKey(text, value)) return { value, reason: null }
  return { value: undefined, reason: 'a key occurs twice in an object' }
}

export type TrustedInputs = {
  readonly keys: readonly PublishedKey[]
  /** The log entry that a tlog-proof proves: such a proof names the entry by position only. */
  readonly entry: unknown
  /** Witnesses that must have cosigned each checkpoint: their vkeys, and how many must have. */
  readonly witnesses?: { readonly keys: readonly string[]; readonly required?: number | undefined }
  /**
   * Verifies the RFC 3161 token of a text. If given, each epoch must have a token. The caller
   * supplies it, because X.509 certificates need functions that a browser does not have.
   */
  readonly timestamp?: (
    text: string,
    token: Uint8Array,
  ) => {
    readonly ok: boolean
    /** The time in the token, in the form of `stamped_at` of an epoch. */
    readonly at?: string
    readonly reason?: string
  }
}

/** Verifies one document. A malformed document is invalid and does not throw. */
export async function verifySavedDocument(
  document: SavedDocument,
  trust: TrustedInputs,
): Promise<Verdict> {
  const verdict = unsignedParts(document, trust).reduce(skip, await verifyDocument(document, trust))
  const witnessed = trust.witnesses
    ? await requireWitnesses(document, verdict, trust.witnesses)
    : verdict
  if (trust.timestamp) return requireTimestamp(document, witnessed, trust.timestamp)
  return timestampOf(document) === undefined
    ? witnessed
    : skip(witnessed, 'timestamp: needs the certificate of its authority')
}

/** The parts of a saved answer that no signature covers. */
function unsignedParts(document: SavedDocument, { witnesses }: TrustedInputs): string[] {
  if (document.kind !== 'json') return []
  const { envelope, saved = envelope } = document
  const signed: unknown[] = envelope.type === 'list' ? [...envelope.items] : [envelope]
  const verified = new Set([
    envelope,
    ...signed.flatMap((one) => Object.values(Object(one)).flat()),
  ])
  const found = [...UNSIGNED_CERTIFICATE_FIELDS].filter((name) =>
    [...verified].some((one) => isObject(one) && Object.hasOwn(one, name)),
  )
  if (hasCheckpoint(envelope)) found.push('epoch numbers')
  if (hasCheckpoint(envelope) && !witnesses) found.push('cosignatures')
  if (![saved].flat().every((one) => verified.has(one))) found.push('what else the answer says')
  return found.length > 0 ? [`${found.join(', ')}: not in a signature`] : []
}

const LISTED = 'the checkpoints of a list are verified one by one'

const skip = (verdict: Verdict, what: string): Verdict => ({
  ...verdict,
  not_checked: [...verdict.not_checked, what],
})

function withChecks(verdict: Verdict, added: readonly Check[]): Verdict {
  const { type, checks, not_checked, valid_with } = verdict
  return { ...toVerdict(type, [...checks, ...added], valid_with), not_checked }
}

async function requireWitnesses(
  document: SavedDocument,
  verdict: Verdict,
  witnesses: NonNullable<TrustedInputs['witnesses']>,
): Promise<Verdict> {
  const note = cosignedNote(document)
  if (note !== null) return withChecks(verdict, await checkWitnesses(note, witnesses))
  if (document.kind !== 'json' || !hasCheckpoint(document.envelope))
    return skip(verdict, 'cosignatures: not a checkpoint')
  return withChecks(verdict, [{ name: 'witnessed', ok: false, detail: LISTED }])
}

function requireTimestamp(
  document: SavedDocument,
  verdict: Verdict,
  verify: NonNullable<TrustedInputs['timestamp']>,
): Verdict {
  const shown = timestampOf(document)
  if (shown) return withChecks(verdict, [checkTimestamp(shown, verify)])
  const rests =
    document.kind === 'checkpoint' ||
    document.kind === 'tlog_proof' ||
    (document.kind === 'json' && hasCheckpoint(document.envelope))
  if (!rests) return skip(verdict, 'timestamp: not a checkpoint')
  const alone = shownCheckpoint(document) === null ? LISTED : 'it has none'
  const detail = document.kind === 'json' ? alone : 'only an epoch or a proof shows its timestamp'
  return withChecks(verdict, [{ name: 'timestamp', ok: false, detail }])
}

function checkTimestamp(
  { checkpoint, token, stamped_at }: NonNullable<ReturnType<typeof timestampOf>>,
  verify: NonNullable<TrustedInputs['timestamp']>,
): Check {
  const failed = (detail: string): Check => ({ name: 'timestamp', ok: false, detail })
  let bytes: Uint8Array
  try {
    bytes = fromBase64(String(token))
  } catch {
    return failed('malformed')
  }
  const { ok, at, reason } = verify(checkpoint, bytes)
  if (!ok || at === undefined) return failed(reason ?? 'invalid')
  if (stamped_at !== at) return failed('stamped_at: another time')
  return { name: `timestamp ${at}`, ok: true }
}

/** The timestamp of the document's checkpoint; undefined if it shows none. */
function timestampOf(document: SavedDocument) {
  const shown = shownCheckpoint(document)
  if (!shown || !isObject(shown['timestamp'])) return undefined
  const { token, stamped_at } = shown['timestamp']
  return { checkpoint: String(shown['checkpoint']), token, stamped_at }
}

/**
 * The object of an answer that has its checkpoint, cosignatures and timestamp; null if there is
 * none. Of two checkpoints it is the later one, whose consistency with the earlier one is proven.
 */
function shownCheckpoint(document: SavedDocument) {
  if (document.kind !== 'json') return null
  const { envelope } = document
  if (envelope.type === 'epoch') return isObject(envelope.epoch) ? envelope.epoch : null
  if (envelope.type === 'proof') return isObject(envelope.proof) ? envelope.proof : null
  if (envelope.type === 'consistency') return isObject(envelope.to) ? envelope.to : null
  return null
}

/** Whether the document depends on a checkpoint, which may lack cosignatures. */
function hasCheckpoint(envelope: Envelope): boolean {
  if (envelope.type === 'list')
    return envelope.items.map(detectEnvelope).some((item) => item !== null && hasCheckpoint(item))
  return ['epoch', 'proof', 'consistency'].includes(envelope.type)
}

/** The checkpoint of a document with its cosignatures; null if it has no checkpoint. */
function cosignedNote(document: SavedDocument): string | null {
  if (document.kind === 'checkpoint') return document.text
  if (document.kind === 'tlog_proof') return document.text.slice(document.text.indexOf('\n\n') + 2)
  const shown = shownCheckpoint(document)
  if (!shown) return null
  const listed = Array.isArray(shown['cosignatures']) ? shown['cosignatures'] : []
  const lines = listed.map((each) => (isObject(each) ? `${String(each['line'])}\n` : ''))
  const checkpoint = String(shown['checkpoint'])
  try {
    return appendLines(checkpoint, lines.join(''))
  } catch {
    // The shown cosignatures are not signature lines.
    return checkpoint
  }
}

function verifyDocument(document: SavedDocument, trust: TrustedInputs): Promise<Verdict> | Verdict {
  switch (document.kind) {
    case 'json':
      return verifyEnvelope(document.envelope, { keys: trust.keys })
    case 'checkpoint':
      return verifyCheckpointText(document.text, trust.keys)
    case 'tlog_proof':
      return verifyTlogProof(document.text, trust)
    case 'run':
      return verifyRunBundle(document.lines, { keys: trust.keys })
    case 'unknown':
      return toVerdict('unknown', [{ name: 'recognised', ok: false, detail: document.reason }])
  }
}

async function verifyCheckpointText(text: string, keys: readonly PublishedKey[]): Promise<Verdict> {
  const { checks, signers } = await verifySignedNote(text, keys)
  return toVerdict('checkpoint', checks, signers)
}

// A signed note names its key by a short hash, so each published checkpoint key is tried. The
// checkpoint is present if a known key signed it.
async function verifySignedNote(
  text: string,
  keys: readonly PublishedKey[],
): Promise<{ checks: readonly Check[]; signers: readonly string[]; checkpoint?: Checkpoint }> {
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
    { name: 'breadcrumb_id', ok: toHex(leaf) === entry.breadcrumb_id },
    { name: 'position', ok: entry.seq === proof.index },
    { name: 'inclusion', ok: verifyInclusion(claim) },
  ]
  return toVerdict('tlog_proof', found, signers)
}

function leafOf(entry: Breadcrumb): Uint8Array {
  try {
    return fromHex(breadcrumbId(entry))
  } catch {
    // A value without a canonical form has no hash, so nothing can match.
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

// Lengths of key ids, which are prefixes of the key's digest; older ids are longer.
const ID_LENGTHS = [32, 16] as const
const PURPOSES = [
  'decision',
  'provenance',
  'checkpoint',
  'erasure',
  'record',
  'cgr_attestation',
] as const

/**
 * The keys in the text of an answer of GET /v1/gcrumbs/public_key, of its bare list or of a bundle.
 * Returns an empty list for any other text.
 */
export function readKeyList(text: string): readonly PublishedKey[] {
  const { value: parsed } = parse(withoutMark(text))
  return readKeys(isObject(parsed) ? parsed['keys'] : parsed)
}

/** A key list that trusts one public key (64 hex digits) for every purpose at every time. */
export function trustedKeys(hex: string): readonly PublishedKey[] {
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
