// Checks stored decisions against themselves and the log, for `custos fsck` and assurance. Also
// digests them, so that two copies of a trail can be compared without showing content.

import { createHash } from 'node:crypto'
import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { verifyDecision } from '@custos/proof'
import { toHex } from '../../../platform/bytes.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { SealError } from '../../../platform/keys/seal.ts'
import { type DecisionRow, findLoggedRecord, listDecisions, listUses } from './decisions.sql.ts'
import { recordDigestOf } from './identity.ts'
import { isErasureConflict, openResolved, openRows, type ResolvedDecision } from './open.ts'
import { showResolved } from './reads.ts'

interface DecisionFault {
  readonly decision_id: string
  readonly log_seq: number
  /** Description of the fault, without content. */
  readonly fault: string
}

const CHUNK_ROWS = 50
/** Decisions opened concurrently. */
const AT_ONCE = 10

/**
 * Opens every seal and recomputes identity, signature and digest. A scrubbed record has no salt;
 * the digest on the log is then compared with the one in the document.
 */
export async function checkDecisions(
  kernel: Kernel,
  tenant_id: string,
  onProgress: (checked: number) => void = () => {},
): Promise<{ checked: number; faults: readonly DecisionFault[] }> {
  const faults: DecisionFault[] = []
  let checked = 0
  for (let after_seq = -1; ; ) {
    const page = await checkPage(kernel, tenant_id, after_seq)
    faults.push(...page.faults)
    checked += page.seqs.length
    onProgress(checked)
    const last = page.seqs.at(-1)
    if (last === undefined || page.seqs.length < CHUNK_ROWS) return { checked, faults }
    after_seq = last
    await yieldToOthers()
  }
}

/** Same check for a sample: the fifty decisions after each seq. */
export async function checkSomeDecisions(
  kernel: Kernel,
  tenant_id: string,
  after_seqs: readonly number[],
): Promise<{ checked: number; faults: readonly DecisionFault[] }> {
  const faults = new Map<number, DecisionFault>()
  const seqs = new Set<number>()
  for (const after_seq of after_seqs) {
    const page = await checkPage(kernel, tenant_id, after_seq)
    for (const fault of page.faults) faults.set(fault.log_seq, fault)
    for (const seq of page.seqs) seqs.add(seq)
    await yieldToOthers()
  }
  return { checked: seqs.size, faults: [...faults.values()] }
}

async function checkPage(kernel: Kernel, tenant_id: string, after_seq: number) {
  const faults: DecisionFault[] = []
  const seqs = await kernel.db.read(tenant_id, async (db) => {
    const page = { order: 'asc', limit: CHUNK_ROWS } as const
    const found = await listDecisions(db, { after_seq }, page)
    for (let first = 0; first < found.length; first += AT_ONCE) {
      const some = found.slice(first, first + AT_ONCE)
      // Worker threads of the runtime verify the signatures concurrently.
      const running = some.map((row) => findFault(kernel, db, row))
      // Waits for all: none may read on after the snapshot has ended.
      await Promise.allSettled(running)
      const results = await Promise.all(running)
      for (const [i, { decision_id, seq }] of some.entries()) {
        const fault = results[i]
        if (fault) faults.push({ decision_id: toHex(decision_id), log_seq: seq, fault })
      }
    }
    return found.map(({ seq }) => seq)
  })
  return { faults, seqs }
}

async function findFault(kernel: Kernel, db: TenantDb, row: DecisionRow): Promise<string | null> {
  try {
    const [opened] = await openResolved(kernel, db, [row])
    return opened ? await findMismatch(kernel, db, opened) : 'cannot be read'
  } catch (error) {
    if (isErasureConflict(error)) return 'a secret of its key has been destroyed'
    if (error instanceof SealError) return 'the seal does not open'
    throw error
  }
}

async function findMismatch(
  kernel: Kernel,
  db: TenantDb,
  opened: ResolvedDecision,
): Promise<string | null> {
  const { row, head, document, decision_id } = opened
  if (row.secret_no !== head.secret_no) return 'secret_no differs from the sealed head'
  if (!(await isUseIndexCorrect(db, opened)))
    return 'the index of uses differs from the sealed record'
  const logged = await findLoggedRecord(db, row.seq)
  if (logged?.subject !== decision_id) return 'the log has another entry at its place'
  if (logged.payload.record_digest !== document.record_digest)
    return 'the digest differs from the one on the log'
  if (
    document.commitment_salt !== null &&
    recomputeDigest(db.tenant_id, opened) !== document.record_digest
  )
    return 'the record does not give the digest on the log'
  const shown = showResolved(db.tenant_id, opened)
  const verdict = await verifyDecision(shown, kernel.keyring.publishedKeys())
  return verdict.valid ? null : (verdict.reason ?? 'the signature does not hold')
}

/** Erasures find the decisions of a fact by this index; a missing entry would keep its text. */
async function isUseIndexCorrect(db: TenantDb, { row, head, document }: ResolvedDecision) {
  const refs = [...new Set(document.refs)]
  const uses = await listUses(db, row.seq, refs)
  const bound = new Set(head.bound)
  return refs.every((ref) => uses.get(ref) === bound.has(ref))
}

function recomputeDigest(tenant_id: string, opened: ResolvedDecision): string {
  const { row, decision_id, document, contents } = opened
  const { timestamp } = showResolved(tenant_id, opened)
  const { store_id, model_id, token_count, latency_ms, memory_seq } = row
  const { query, output, session_id, parameters, refs, scores } = document
  const salt = Buffer.from(document.commitment_salt ?? '', 'base64')
  return recordDigestOf(
    {
      decision_id,
      tenant_id,
      store_id,
      session_id,
      model_id,
      timestamp,
      query,
      output,
      parameters,
      refs,
      scores,
      contents,
      token_count,
      latency_ms,
      memory_seq,
    },
    salt,
  )
}

/**
 * Lower-case hex SHA-256 of the opened document of every `every`-th decision, by id. Throws if one
 * does not open.
 */
export async function digestDocuments(
  kernel: Kernel,
  tenant_id: string,
  every: number,
): Promise<Map<string, string>> {
  const digests = new Map<string, string>()
  for (let after_seq = -1, seen = 0; ; ) {
    const page = { order: 'asc', limit: CHUNK_ROWS } as const
    const rows = await kernel.db.read(tenant_id, (db) => listDecisions(db, { after_seq }, page))
    const chosen = rows.filter((_, i) => (seen + i) % every === 0)
    for (const { decision_id, document } of await openRows(kernel, tenant_id, chosen))
      digests.set(decision_id, createHash('sha256').update(JSON.stringify(document)).digest('hex'))
    const last = rows.at(-1)
    if (!last || rows.length < CHUNK_ROWS) return digests
    after_seq = last.seq
    seen += rows.length
  }
}
