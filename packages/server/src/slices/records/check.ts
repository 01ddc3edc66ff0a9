// Checks records and approval requests: each opens, verifies and agrees with the audit log.

import { canonicalize, type RecordKind, verifyEnvelope } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { REDACTED_SECRET } from '../../platform/kernel/sealed-column.ts'
import { type ApprovalContent, approvalColumn, contextOf } from './approval-request.ts'
import { type ApprovalRow, listAllApprovals } from './approvals.sql.ts'
import { findRowFault, kindOf, type RecordContent, recordColumn } from './open-record.ts'
import { listAllRows, type RecordRow } from './records.sql.ts'
import { deriveIds, documentDigest } from './sign-record.ts'

/** The last log entry about a record or an approval request. */
interface LastEntry {
  readonly status: string
  /** The certificate of an artifact. */
  readonly certificate_id?: string | null
  /** The payload logged when the approval was requested. */
  readonly asked?: Readonly<Record<string, unknown>>
  /** The digest of the signed document. `null` if nothing was signed. */
  readonly digest: string | null
  /** Whether the log says that the texts are erased. */
  readonly redacted?: boolean
}

/** Log entries by id. The check removes each entry that it has matched. */
export interface LoggedRecords {
  readonly records: Map<string, LastEntry>
  readonly approvals: Map<string, LastEntry>
}

interface RecordFault {
  readonly kind: 'record' | 'approval'
  readonly id: string
  readonly fault: string
}

const CHUNK = 200

/** Checks all records on the snapshot of `db`. */
export async function* checkRecords(
  kernel: Pick<Kernel, 'keyring'>,
  db: TenantDb,
  logged: LoggedRecords,
): AsyncGenerator<RecordFault> {
  for (let after = ''; ; ) {
    const rows = await listAllRows(db, after, CHUNK)
    yield* checkRows(kernel, db.tenant_id, { rows, logged: logged.records })
    after = rows.at(-1)?.record_id ?? ''
    if (rows.length < CHUNK) break
  }
  for (const [id] of logged.records) yield { kind: 'record', id, fault: 'logged, and not here' }
  for (let after = ''; ; ) {
    const rows = await listAllApprovals(db, after, CHUNK)
    yield* checkApprovals(kernel, db.tenant_id, { rows, logged: logged.approvals })
    after = rows.at(-1)?.request_id ?? ''
    if (rows.length < CHUNK) break
  }
  for (const [id] of logged.approvals) yield { kind: 'approval', id, fault: 'logged, and not here' }
}

async function* checkRows(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  { rows, logged }: { rows: readonly RecordRow[]; logged: LoggedRecords['records'] },
): AsyncGenerator<RecordFault> {
  const contents = await recordColumn.openAll(kernel, tenant_id, rows)
  for (const [i, row] of rows.entries()) {
    const content = contents[i]
    const entry = logged.get(row.record_id)
    logged.delete(row.record_id)
    for (const fault of content
      ? await findRecordFaults(kernel, tenant_id, { row, content })
      : [CLOSED])
      yield { kind: 'record', id: row.record_id, fault }
    const document = content?.document ?? null
    const signed = content?.signed?.record_digest ?? null
    const digest = document === null ? signed : documentDigest(kindOf(row), document)
    const linked = (entry?.certificate_id ?? null) === row.linked_id ? [] : [LINKED]
    const faults = [...findLogFaults(entry, row.status, digest), ...findRedactionFaults(entry, row)]
    for (const fault of [...faults, ...linked]) yield { kind: 'record', id: row.record_id, fault }
  }
}

const CLOSED = 'the seal does not open'

const LINKED = 'names another certificate than the log'

async function findRecordFaults(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  { row, content }: { row: RecordRow; content: RecordContent },
): Promise<string[]> {
  const { created_us, record_id, proposal_digest } = row
  const { request, nonce, document } = content
  // The request is erased, so the id cannot be derived again.
  if (row.secret_no === REDACTED_SECRET) return []
  const kind = kindOf(row)
  const ids = deriveIds({ tenant_id, kind, request, created_us, nonce })
  const faults: string[] = []
  if (ids.record_id !== record_id || ids.proposal_digest !== proposal_digest)
    faults.push('its id does not follow from what was proposed')
  if (document === null) return faults
  if (document['proposal_digest'] !== proposal_digest)
    faults.push('what was signed is not what was proposed')
  const differs = findRowFault(row, document, row.status)
  if (differs !== null) faults.push(`its ${differs} differs from what was signed`)
  return [...faults, ...(await findSignatureFaults(kernel, kind, document))]
}

async function findSignatureFaults(
  { keyring }: Pick<Kernel, 'keyring'>,
  kind: RecordKind | 'approval',
  record: object,
): Promise<string[]> {
  const envelope = { type: 'record', kind, record }
  const verdict = await verifyEnvelope(envelope, { keys: keyring.publishedKeys() })
  return verdict.valid ? [] : [`does not verify: ${verdict.reason ?? 'unknown'}`]
}

/** Reports erased texts without a logged redaction, and a logged redaction with texts left. */
function findRedactionFaults(
  entry: LastEntry | undefined,
  { secret_no }: { readonly secret_no: number },
): string[] {
  const redacted = secret_no === REDACTED_SECRET
  if (redacted === (entry?.redacted ?? false)) return []
  return [redacted ? 'is redacted, and not by the log' : 'is redacted by the log, and not here']
}

function findLogFaults(
  entry: LastEntry | undefined,
  status: string,
  digest: string | null,
): string[] {
  if (entry === undefined) return ['the log has no entry of it']
  const faults: string[] = []
  if (entry.status !== status) faults.push(`is ${status}, and ${entry.status} by the log`)
  if (entry.digest !== null && entry.digest !== digest)
    faults.push('the log recorded another document')
  return faults
}

async function* checkApprovals(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  { rows, logged }: { rows: readonly ApprovalRow[]; logged: LoggedRecords['approvals'] },
): AsyncGenerator<RecordFault> {
  const contents = await approvalColumn.openAll(kernel, tenant_id, rows)
  for (const [i, row] of rows.entries()) {
    const content = contents[i]
    const id = row.request_id
    const entry = logged.get(id)
    logged.delete(id)
    if (!content) yield { kind: 'approval', id, fault: CLOSED }
    const signed = content?.record ?? null
    if (signed !== null)
      for (const fault of await findSignatureFaults(kernel, 'approval', signed))
        yield { kind: 'approval', id, fault }
    const before = content?.signed?.record_digest ?? null
    const digest = signed === null ? before : documentDigest('approval', signed)
    const altered = findApprovalFaults(row, tenant_id, { content: content ?? null, entry })
    const faults = [...findLogFaults(entry, row.state, digest), ...findRedactionFaults(entry, row)]
    for (const fault of [...faults, ...altered]) yield { kind: 'approval', id, fault }
  }
}

/** Compares the row with the sealed and logged request, and with the signed decision. */
function findApprovalFaults(
  row: ApprovalRow,
  tenant_id: string,
  { content, entry }: { content: ApprovalContent | null; entry: LastEntry | undefined },
): string[] {
  if (content === null) return []
  const faults: string[] = []
  const { operation, context, record } = content
  const principal = context['principal']
  const names = { operation, principal: typeof principal === 'string' ? principal : null }
  const shown = contextOf(row, tenant_id, names)
  if (canonicalize(shown) !== canonicalize(context))
    faults.push('the row differs from what was asked for')
  const { proposal_digest, policy_set, requested_by, expires_at } = shown
  const logged = { proposal_digest, policy_set, requested_by, expires_at }
  for (const [name, value] of Object.entries(logged))
    if (entry?.asked && entry.asked[name] !== value)
      faults.push(`its ${name} is not the one logged`)
  if (record === null) return faults
  const { decided_by, approver_id, decided_at } = record
  const at = row.decided_us === null ? null : formatTime(row.decided_us)
  if (decided_by !== row.decided_by || approver_id !== row.approver_id || decided_at !== at)
    faults.push('the row differs from the signed decision')
  return faults
}
