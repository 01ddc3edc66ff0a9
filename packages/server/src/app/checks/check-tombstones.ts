// Tombstones: the secret is destroyed, the log says so, a certificate stands for it.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { type CheckContext, type CheckFinding, subjectKey } from './check-context.ts'
import { parseRecord } from './check-log.ts'
import { findCertificateSubject, findRecord, listTombstoneRows } from './fsck.sql.ts'

const CHUNK = 500

export async function* checkTombstones(check: CheckContext): AsyncGenerator<CheckFinding> {
  const { db, kernel, counts, log } = check
  for (let after = -1; ; ) {
    const rows = await listTombstoneRows(db, after, CHUNK)
    const refs = rows.map(({ ref }) => ref)
    for (const ref of refs) log.erased.delete(ref)
    const secrets = await kernel.keyring.secrets(db.tenant_id, 'fact', refs)
    for (const row of rows) {
      const found = (what: string): CheckFinding => ({
        kind: 'tombstone',
        id: String(row.ref),
        what,
      })
      const secret = secrets.get(row.ref)
      if (secret) {
        secret.fill(0)
        yield found('its secret is alive')
      }
      for await (const what of problemsOf(check, row)) yield found(what)
    }
    counts.tombstones += rows.length
    check.progress(`tombstone ${counts.tombstones}`)
    const last = rows.at(-1)
    if (!last || rows.length < CHUNK) break
    after = last.ref
    await nextTurn()
  }
  for (const [ref, seq] of log.erased)
    yield {
      kind: 'tombstone',
      id: String(ref),
      what: `erased by entry ${seq}, no tombstone is here`,
    }
}

async function* problemsOf(
  check: CheckContext,
  row: Awaited<ReturnType<typeof listTombstoneRows>>[number],
): AsyncGenerator<string> {
  const { ref, erased_seq, certificate_id } = row
  const record = await findRecord(check.db, erased_seq)
  const { event_type, payload = {} } = parseRecord(record?.record ?? '')
  if (event_type !== 'memory.erased' || payload['ref'] !== ref)
    yield `entry ${erased_seq} of the log does not say that it was erased`
  if (!(await isInLedger(check, ref))) yield 'the ledger knows nothing of it'
  const certificate = certificate_id && (await findCertificateSubject(check.db, certificate_id))
  const stands =
    certificate &&
    certificate.stands === 1 &&
    certificate.subject_kind === 'fact' &&
    certificate.subject === String(ref)
  // Requested only: the certificate is the next step of the erasure.
  const completed = check.ledger.get(subjectKey('fact', String(ref)))?.state === 'completed'
  if (!stands && completed) yield 'no certificate stands for it'
}

async function isInLedger({ ledger, kernel, db }: CheckContext, ref: number): Promise<boolean> {
  if (ledger.has(subjectKey('fact', String(ref)))) return true
  // Begun after the ledger was read, before the snapshot was taken.
  return (await kernel.keyring.ledger.find(db.tenant_id, 'fact', String(ref))) !== null
}
