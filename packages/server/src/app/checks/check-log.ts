// The log and its cosignatures: re-derives the log, then reads what other tables must hold.

import { addSignatures, parseWitnessKey, RECORD_KINDS, verifyCosignatures } from '@custos/proof'
import { listAppliedMigrations } from '../../platform/db/control.sql.ts'
import { cosignatures, epochTimestamps } from '../../platform/db/migrations/0030-to-0080.ts'
import type { Row } from '../../platform/db/schema/tables.ts'
import { verifyTimestampToken } from '../../platform/timestamps/timestamp-token.ts'
import {
  isWitnessed,
  listCosignaturesAfter,
  listTimestampsAfter,
  UNVERIFIED,
  verifyLog,
} from '../../slices/gcrumbs/index.ts'
import type { CheckContext, CheckFinding, LogSummary } from './check-context.ts'
import { findEpochCheckpoint, listRecords } from './fsck.sql.ts'

const CHUNK = 1_000

/** Checks entries, links, stored nodes, checkpoints and the head against keys and keyring. */
export async function* checkLog(check: CheckContext): AsyncGenerator<CheckFinding> {
  const { kernel, db, keys, signed, counts } = check
  const origin = kernel.settings.origin
  const verdict = await verifyLog(db, { from: UNVERIFIED, keys, origin, signed })
  counts.entries = verdict.tree_size
  counts.epochs = verdict.epochs_verified
  if (signed) {
    const epoch = await findEpochCheckpoint(db, signed.epoch_number)
    if (epoch?.checkpoint !== signed.checkpoint)
      yield { kind: 'log', id: `epoch ${signed.epoch_number}`, what: 'is not the one signed' }
  }
  if (verdict.status !== 'tampered') return
  const { at_seq, epoch_number, reason = 'tampered' } = verdict
  const hint = reason === 'epoch_wrong_origin' ? ' (does --origin name the one served?)' : ''
  yield {
    kind: 'log',
    id: epoch_number === undefined ? `entry ${at_seq ?? 0}` : `epoch ${epoch_number}`,
    what: `${reason.replaceAll('_', ' ')}${hint}`,
    whole_log: true,
  }
}

const COSIGNATURES_PAGE = 500

/** Also counts the epochs that enough witnesses of the current policy have cosigned. */
export async function* checkCosignatures(check: CheckContext): AsyncGenerator<CheckFinding> {
  const { kernel, db, counts } = check
  // Data of an earlier version have no cosignatures; they are checked before their migration.
  if (!(await listAppliedMigrations(db)).includes(cosignatures.name)) return
  for await (const [epoch_number, rows] of byEpoch(check)) {
    const epoch = await findEpochCheckpoint(db, epoch_number)
    const sound: Row<'cosignatures'>[] = []
    for (const row of rows)
      if (epoch && (await isSound(epoch.checkpoint, row))) sound.push(row)
      else yield { kind: 'log', id: `epoch ${epoch_number}`, what: 'has an invalid cosignature' }
    if (isWitnessed(kernel.settings.witnesses, sound)) counts.witnessed += 1
  }
}

async function* byEpoch({ db }: CheckContext): AsyncGenerator<[number, Row<'cosignatures'>[]]> {
  for (let after = 0; ; ) {
    const rows = await listCosignaturesAfter(db, after, COSIGNATURES_PAGE)
    const groups = [...Map.groupBy(rows, (row) => row.epoch_number)]
    // The last epoch of a full page may have more rows, so the next page reads it again.
    const whole =
      rows.length < COSIGNATURES_PAGE || groups.length === 1 ? groups : groups.slice(0, -1)
    yield* whole
    if (rows.length < COSIGNATURES_PAGE) return
    after = whole.at(-1)?.[0] ?? after
  }
}

/** Checks that timestamps fit their checkpoint and, if authorities are set, their signers. */
export async function* checkTimestamps(check: CheckContext): AsyncGenerator<CheckFinding> {
  const { kernel, db } = check
  if (!(await listAppliedMigrations(db)).includes(epochTimestamps.name)) return
  for (let after = 0; ; ) {
    const rows = await listTimestampsAfter(db, after, COSIGNATURES_PAGE)
    for (const { epoch_number, token, stamped_us } of rows) {
      const epoch = await findEpochCheckpoint(db, epoch_number)
      const message = Buffer.from(epoch?.checkpoint ?? '')
      const trusted = kernel.settings.timestamps?.certificates ?? null
      const verdict = verifyTimestampToken(token, { message, trusted })
      if (!verdict.ok || verdict.stamped_us !== stamped_us)
        yield { kind: 'log', id: `epoch ${epoch_number}`, what: 'has an invalid timestamp' }
    }
    if (rows.length < COSIGNATURES_PAGE) return
    after = rows.at(-1)?.epoch_number ?? after
  }
}

async function isSound(checkpoint: string, row: Row<'cosignatures'>): Promise<boolean> {
  try {
    const { name, keyHash } = parseWitnessKey(row.witness)
    const note = addSignatures(checkpoint, [{ name, keyHash, signature: row.signature }])
    const [verdict] = await verifyCosignatures(note, [row.witness])
    return verdict?.ok === true && verdict.timestamp === row.signed_s
  } catch {
    // A row is untrusted data, so its key may be invalid.
    return false
  }
}

/** Fills `check.log`. Ignores unreadable entries, which are findings of `checkLog`. */
export async function summariseLog(check: CheckContext): Promise<void> {
  for (let first = 0; ; first += CHUNK) {
    const rows = await listRecords(check.db, first, first + CHUNK)
    for (const { seq, record } of rows) summarise(check.log, seq, parseRecord(record))
    check.progress(`log entry ${first + rows.length}`)
    if (rows.length < CHUNK) return
  }
}

interface Entry {
  readonly created_at?: unknown
  readonly event_type?: unknown
  readonly subject?: unknown
  readonly payload?: Readonly<Record<string, unknown>>
}

export function parseRecord(record: string): Entry {
  try {
    const parsed: unknown = JSON.parse(record)
    // Each field is validated where it is read below.
    return typeof parsed === 'object' && parsed !== null ? (parsed as Entry) : {}
  } catch {
    return {}
  }
}

function summarise(log: LogSummary, seq: number, entry: Entry): void {
  const { event_type, subject, payload = {}, created_at } = entry
  if (String(created_at) <= log.last_at) log.back_at ??= seq
  else log.last_at = String(created_at)
  if (event_type === 'memory.written') log.written.set(seq, Number(payload['count']))
  if (event_type === 'memory.superseded') log.written.set(seq, 1)
  if (event_type === 'memory.erased') log.erased.set(Number(payload['ref']), seq)
  if (event_type === 'decision.logged') log.decisions += 1
  log.governed.add(entry)
  if (event_type === 'erasure.certified')
    log.certified.set(String(subject), { seq, digest: String(payload['digest']) })
  if (event_type === 'conformance.audited')
    log.audited.set(String(subject), { seq, digest: String(payload['record_digest']) })
  if (event_type === 'subject.erased')
    log.manifests.set(String(subject), String(payload['record_digest']))
  summariseRecord(log, String(event_type), { subject: String(subject), payload })
}

function summariseRecord(
  { registered }: LogSummary,
  event_type: string,
  { subject, payload }: { subject: string; payload: Readonly<Record<string, unknown>> },
): void {
  const [kind = '', status = ''] = event_type.split('.')
  const given = payload['record_digest']
  // A certified artifact is still the one that was registered.
  const before = registered.records.get(subject)
  const digest = typeof given === 'string' ? given : (before?.digest ?? null)
  const last = { status, digest, redacted: before?.redacted ?? false }
  if (event_type === 'text.redacted') markRedacted(registered, subject)
  const certificate = payload['certificate_id']
  const certificate_id = typeof certificate === 'string' ? certificate : null
  if (RECORD_KINDS.some((known) => known === kind))
    registered.records.set(subject, { ...last, certificate_id })
  if (kind !== 'approval' || status === 'settings_changed') return
  const earlier = registered.approvals.get(subject)
  const asked = status === 'requested' ? payload : earlier?.asked
  registered.approvals.set(subject, {
    status: status === 'requested' ? 'pending' : status,
    digest: typeof given === 'string' ? given : null,
    redacted: earlier?.redacted ?? false,
    ...(asked ? { asked } : {}),
  })
}

/** Ids of records and of approval requests never coincide. */
function markRedacted({ records, approvals }: LogSummary['registered'], subject: string): void {
  for (const entries of [records, approvals]) {
    const entry = entries.get(subject)
    if (entry) entries.set(subject, { ...entry, redacted: true })
  }
}
