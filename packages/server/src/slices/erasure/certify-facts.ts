// Step 7: certificates are signed, verified and stored; the ledger rows are completed with them.

import type { ErasureOutcome, ErasureStatement } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import type { Redaction } from '../decisions/index.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { findStore, setTombstoneCertificate } from '../memory/index.ts'
import {
  certificateDigest,
  readRecord,
  type StoredCertificate,
  signStatement,
} from './certificate.ts'
import { findCertificate, findStanding, insertCertificate } from './certificates.sql.ts'
import { limitsOf } from './claims.ts'
import type { Observation } from './observe-facts.ts'
import type { Pending, Reasons } from './plan.ts'
import type { Known } from './plan-facts.ts'
import { passed } from './steps.ts'

export interface Proven {
  readonly pending: readonly Pending[]
  /** Stored by a run that ended before the ledger was told. */
  readonly certified: ReadonlyMap<number, StoredCertificate>
  readonly observed: ReadonlyMap<number, Observation>
  /** What was replaced in decisions, by the ref that they used. */
  readonly redactions: ReadonlyMap<number, readonly Redaction[]>
  readonly seqs: ReadonlyMap<number, number>
  readonly known: ReadonlyMap<number, Known>
}

export async function certifyFacts(
  kernel: Kernel,
  tenant_id: string,
  proven: Proven,
): Promise<Map<number, StoredCertificate>> {
  const certificates = new Map(proven.certified)
  const fresh: StoredCertificate[] = []
  const completed_us = kernel.clock.now()
  const sent = await storesSentOut(kernel, tenant_id, proven.pending)
  for (const { entry, plan } of proven.pending) {
    const observed = proven.observed.get(plan.ref)
    if (certificates.has(plan.ref) || !observed) continue
    const subject = { ...plan, redactions: proven.redactions.get(plan.ref) ?? [] }
    const statement = factStatement(tenant_id, subject, {
      observed,
      requested_us: entry.requested_us,
      completed_us,
      log_seq: proven.seqs.get(plan.ref) ?? null,
      limits: limitsOf({
        engine: kernel.db.stats().engine,
        kind: 'fact',
        outcome: plan.outcome,
        with_words: proven.known.has(plan.ref),
        sent_out: plan.store_id !== null && sent.has(plan.store_id),
      }),
    })
    const certificate = await signStatement(kernel, statement)
    fresh.push(certificate)
  }
  const stored = await kernel.db.transact(tenant_id, async (tx) => {
    const standing: StoredCertificate[] = []
    for (const certificate of fresh)
      standing.push(await storeFactCertificate(tx, certificate, completed_us))
    return standing
  })
  for (const certificate of stored)
    if (certificate.fact_ref !== null) certificates.set(certificate.fact_ref, certificate)
  await passed(kernel, '7-main')
  await kernel.keyring.ledger.complete(completions(proven.pending, certificates, completed_us))
  await passed(kernel, '7')
  return certificates
}

/** Those of the stores whose texts have been given to an embedding service outside. */
async function storesSentOut(
  kernel: Kernel,
  tenant_id: string,
  pending: readonly Pending[],
): Promise<ReadonlySet<string>> {
  const ids = new Set(pending.flatMap(({ plan }) => plan.store_id ?? []))
  const sent = new Set<string>()
  await kernel.db.read(tenant_id, async (db) => {
    for (const store_id of ids) if ((await findStore(db, store_id))?.sent_out) sent.add(store_id)
  })
  return sent
}

function completions(
  pending: readonly Pending[],
  certificates: ReadonlyMap<number, StoredCertificate>,
  completed_us: number,
) {
  return pending.flatMap(({ entry, plan }) => {
    const certificate = certificates.get(plan.ref)
    return certificate ? [{ ledger_id: entry.ledger_id, certificate, completed_us }] : []
  })
}

export interface StatementParts {
  readonly observed: Observation
  readonly requested_us: number
  readonly completed_us: number
  /** null: nothing was erased, so no log entry records it. */
  readonly log_seq: number | null
  readonly limits: readonly string[]
}

/** What is said of a subject; nothing_found has no plan in the ledger but the same fields. */
export type FactSubject = Reasons & {
  readonly certificate_id: string
  readonly ref: number
  readonly store_id: string | null
  readonly outcome: ErasureOutcome
  readonly fact_content_hash: string | null
  readonly redactions: readonly Redaction[]
}

export function factStatement(
  tenant_id: string,
  subject: FactSubject,
  { observed, requested_us, completed_us, log_seq, limits }: StatementParts,
): ErasureStatement {
  return {
    certificate_id: subject.certificate_id,
    tenant_id,
    fact_ref: subject.ref,
    store_id: subject.store_id,
    outcome: subject.outcome,
    fact_content_hash: subject.fact_content_hash,
    coverage: observed.coverage,
    scrubbed_decision_ids: observed.scrubbed_decision_ids,
    redactions: subject.redactions,
    verification: { ran_at: observed.ran_at, paths: observed.paths },
    limits,
    legal_basis: subject.legal_basis,
    requested_by: subject.requested_by,
    erasure_requested_at: formatTime(requested_us),
    erasure_completed_at: formatTime(completed_us),
    log_seq,
  }
}

/**
 * Stores a certificate of a fact with its log entry, unless another process that finished the same
 * erasure has stored its own; the one that is stored. One for nothing_found never stands.
 */
export async function storeFactCertificate(
  tx: Tx,
  certificate: StoredCertificate,
  completed_us: number,
): Promise<StoredCertificate> {
  const { certificate_id, outcome, fact_ref } = certificate
  const stands = outcome !== 'nothing_found'
  const first =
    (stands ? await findStanding(tx, 'fact', String(fact_ref)) : undefined) ??
    (await findCertificate(tx, certificate_id))
  if (first) return readRecord(first.record)
  const { seq } = await appendCrumb(tx, {
    event_type: 'erasure.certified',
    subject: certificate_id,
    payload: {
      subject_kind: 'fact',
      ref: fact_ref,
      outcome,
      scrubbed: certificate.scrubbed_decision_ids.length,
      digest: certificateDigest(certificate),
    },
  })
  await insertCertificate(tx, {
    certificate_id,
    subject_kind: 'fact',
    subject: stands ? String(fact_ref) : '',
    stands: stands ? 1 : 0,
    outcome,
    completed_us,
    log_seq: seq,
    record: JSON.stringify(certificate),
  })
  if (stands && fact_ref !== null) await setTombstoneCertificate(tx, fact_ref, certificate_id)
  return certificate
}

/** Certificates that are stored although their ledger rows still say requested. */
export async function findCertified(
  kernel: Kernel,
  tenant_id: string,
  pending: readonly Pending[],
): Promise<Map<number, StoredCertificate>> {
  const found = new Map<number, StoredCertificate>()
  await kernel.db.read(tenant_id, async (db) => {
    for (const { plan } of pending) {
      const row = await findStanding(db, 'fact', String(plan.ref))
      if (row) found.set(plan.ref, readRecord(row.record))
    }
  })
  return found
}
