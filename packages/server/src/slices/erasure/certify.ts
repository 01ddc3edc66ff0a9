// Certifies erasures: probes every path that could show a memory; signs, verifies and stores what
// was observed; completes the ledger rows with the certificates.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { ErasureOutcome, ErasureStatement } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import {
  countTextsUsing,
  describeDisclosures,
  probeDecisions,
  readBackScrubbed,
} from '../decisions/index.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { findStore, probeErasedFacts, setTombstoneCertificate } from '../memory/index.ts'
import { meterErasure } from '../tenants/index.ts'
import {
  certificateDigest,
  destroyedKeyResult,
  type ErasureReasons,
  isSelfTest,
  listLimits,
  parseCertificate,
  type StoredCertificate,
  signStatement,
} from './certificate.ts'
import type { AppliedPlans } from './destroy.ts'
import {
  findCertificates,
  findFactRows,
  findTombstones,
  insertCertificates,
  insertSelfTestCertificate,
  isNamedByDecision,
  listStandingCertificates,
  listUses,
} from './erasure.sql.ts'
import { type FactPlan, type PendingErasure, reportStep, textSubject } from './plan.ts'
import type { ErasureBatch, RecordedErasure } from './prepare.ts'

interface ProbedPath {
  readonly path: string
  readonly result: string
}

interface FactVerification {
  readonly ran_at: string
  readonly paths: readonly ProbedPath[]
  /** Decisions that, read back, show the marker instead of the memory. */
  readonly scrubbed_decision_ids: readonly string[]
  /** Observed status by sink. */
  readonly coverage: Readonly<Record<string, string>>
  /** True if no path shows the memory. */
  readonly gone: boolean
}

/** Results of a read path for an absent memory. Any other result means it is still readable. */
const GONE: ReadonlySet<string> = new Set([
  'absent',
  'tombstoned',
  'key_destroyed',
  'key_deleted',
  'scrubbed',
  'none',
  'unused',
  'not_applicable',
])

const PAUSE_EVERY = 8

/** Path of run texts that were derived from the memory. */
const RUN_TEXTS = 'runs.texts'

interface ErasureSubject {
  readonly ref: number
  readonly store_id: string | null
  readonly outcome: ErasureOutcome
}

/** Probes every path that could show the memories and reports the result of each. */
async function verifyErasure(
  kernel: Kernel,
  tenant_id: string,
  subjects: readonly ErasureSubject[],
  known: RecordedErasure['known'],
): Promise<Map<number, FactVerification>> {
  const observed = new Map<number, FactVerification>()
  const observeRows = await readRows(kernel, tenant_id, subjects)
  const observeFact = await probeErasedFacts(kernel, tenant_id, subjects)
  const observeDecisions = await probeDecisions(
    kernel,
    tenant_id,
    subjects.map(({ ref }) => ({ ref, content: known.get(ref)?.content ?? null })),
  )
  const refs = subjects.map(({ ref }) => ref)
  const [boundTexts, recipients] = await kernel.db.read(tenant_id, async (db) => [
    await countTextsUsing(db, refs),
    await describeDisclosures(db, refs),
  ])
  for (const subject of subjects) {
    const { ref } = subject
    // A batch has hundreds of facts, so yield to other requests.
    if (observed.size % PAUSE_EVERY === PAUSE_EVERY - 1) await yieldToOthers()
    const { rows, uses } = observeRows(subject)
    const texts = boundTexts.get(ref)
    const paths = [
      ...rows,
      ...observeFact(subject),
      ...observeDecisions(ref),
      ...(texts ? [{ path: RUN_TEXTS, result: texts.present > 0 ? 'present' : 'absent' }] : []),
    ]
    const scrubbed = await readBackScrubbed(kernel, tenant_id, uses, ref)
    observed.set(ref, {
      ran_at: formatTime(kernel.clock.now()),
      paths,
      scrubbed_decision_ids: scrubbed,
      coverage: {
        ...coverageOf(paths, scrubbed),
        ...(texts && { run_texts: `${texts.destroyed} destroyed` }),
        ...recipients.get(ref),
      },
      gone: paths.every(({ result }) => GONE.has(result)) && scrubbed.length === uses.length,
    })
  }
  return observed
}

const coverageOf = (paths: readonly ProbedPath[], scrubbed: readonly string[]) => ({
  data: resultOf(paths, 'data'),
  keyring: resultOf(paths, 'keyring'),
  index: resultOf(paths, 'memory.retrieve'),
  decisions: scrubbed.length > 0 ? 'scrubbed' : 'none',
})

const resultOf = (paths: readonly ProbedPath[], path: string): string =>
  paths.find((probed) => probed.path === path)?.result ?? 'not_checked'

/** Reads what this slice checks itself: the row, the secret, and decisions that name the ref. */
async function readRows(
  kernel: Kernel,
  tenant_id: string,
  subjects: readonly ErasureSubject[],
): Promise<(subject: ErasureSubject) => { rows: ProbedPath[]; uses: string[] }> {
  const refs = subjects.map(({ ref }) => ref)
  const [rows, tombs, uses] = await kernel.db.read(tenant_id, async (db) => [
    new Set((await findFactRows(db, refs)).map(({ ref }) => ref)),
    new Set((await findTombstones(db, refs)).map(({ ref }) => ref)),
    Map.groupBy(await listUses(db, refs), ({ ref }) => ref),
  ])
  const secrets = await kernel.keyring.secrets(tenant_id, 'fact', refs)
  return ({ ref, outcome }) => {
    const data = rows.has(ref) ? 'present' : tombs.has(ref) ? 'tombstoned' : 'absent'
    const keyless = outcome === 'erased' ? destroyedKeyResult(kernel.db.stats().engine) : 'absent'
    const secret = secrets.get(ref) ?? null
    // An unused number may have a prepared secret, which opens nothing.
    const unread = outcome === 'nothing_found' ? 'unused' : 'present'
    const keyring = secret === null ? keyless : unread
    return {
      rows: [
        { path: 'data', result: data },
        { path: 'keyring', result: keyring },
      ],
      uses: (uses.get(ref) ?? []).map(({ decision_id }) =>
        Buffer.from(decision_id).toString('hex'),
      ),
    }
  }
}

/** A read path still shows erased content: no certificate, an error in the log, a 500. */
export class UnprovenErasure extends Error {
  constructor() {
    super('the erasure could not be verified; it stays requested and is tried again')
    this.name = 'UnprovenErasure'
  }
}

/**
 * Checks and certifies erasures whose plans are applied.
 * @returns certificates by ref; in `unproven` the refs that a read path still shows: they are not
 * certified, and their ledger rows stay requested
 */
export async function certifyFacts(
  kernel: Kernel,
  tenant_id: string,
  batch: RecordedErasure & AppliedPlans,
) {
  const { pending, known } = batch
  const plans = pending.map(({ plan }) => plan)
  const observed = await verifyErasure(kernel, tenant_id, plans, known)
  const unproven = plans.filter(({ ref }) => observed.get(ref)?.gone !== true)
  for (const plan of unproven)
    reportUnproven(kernel, tenant_id, plan, observed.get(plan.ref)?.paths)
  await reportStep(kernel, 'verified')

  const stored = await findStoredCertificates(kernel, tenant_id, pending)
  const proven = pending.filter(({ plan }) => observed.get(plan.ref)?.gone === true)
  const completed_us = kernel.clock.now()
  const uncertified = proven.filter(({ plan }) => !stored.has(plan.ref))
  const signed = await signCertificates(kernel, tenant_id, {
    ...batch,
    pending: uncertified,
    sent: await listStoresSentOut(kernel, tenant_id, proven),
    observed,
    completed_us,
  })
  const certificates = new Map(stored)
  await kernel.db.transact(tenant_id, async (tx) => {
    for (const standing of await storeCertificates(kernel, tx, signed, completed_us))
      if (standing.fact_ref !== null) certificates.set(standing.fact_ref, standing)
  })
  await reportStep(kernel, 'certified')
  await kernel.keyring.ledger.complete(listCompletions(proven, certificates, completed_us))
  await reportStep(kernel, 'completed')
  return { certificates, unproven: unproven.map(({ ref }) => ref) }
}

function reportUnproven(
  kernel: Kernel,
  tenant_id: string,
  { ref, certificate_id }: FactPlan,
  paths: readonly ProbedPath[] = [],
): void {
  kernel.logger.error('erasure.not_verified', {
    tenant_id,
    ref,
    certificate_id,
    paths: paths.map(({ path, result }) => `${path}:${result}`).join(' '),
  })
}

interface SigningInput extends RecordedErasure, AppliedPlans {
  /** Stores whose texts were sent to an external embedding service. */
  readonly sent: ReadonlySet<string>
  readonly observed: ReadonlyMap<number, FactVerification>
  readonly completed_us: number
}

async function signCertificates(
  kernel: Kernel,
  tenant_id: string,
  { pending, known, redactions, seqs, sent, observed: found, completed_us }: SigningInput,
): Promise<StoredCertificate[]> {
  const signed: StoredCertificate[] = []
  for (const { entry, plan } of pending) {
    const observed = found.get(plan.ref)
    if (!observed) continue
    const subject = { ...plan, redactions: redactions.get(plan.ref) ?? [] }
    const statement = factStatement(tenant_id, subject, {
      observed,
      requested_us: entry.requested_us,
      completed_us,
      log_seq: seqs.get(plan.ref) ?? null,
      limits: listLimits({
        engine: kernel.db.stats().engine,
        kind: 'fact',
        outcome: plan.outcome,
        with_words: known.has(plan.ref),
        sent_out: plan.store_id !== null && sent.has(plan.store_id),
        disclosed: Object.keys(observed.coverage).some((name) => name.startsWith('sent_to_')),
      }),
    })
    signed.push(await signStatement(kernel, statement))
  }
  return signed
}

/** Returns the stores whose texts were sent to an external embedding service. */
async function listStoresSentOut(
  kernel: Kernel,
  tenant_id: string,
  pending: readonly PendingErasure[],
): Promise<ReadonlySet<string>> {
  const ids = new Set(pending.flatMap(({ plan }) => plan.store_id ?? []))
  const sent = new Set<string>()
  await kernel.db.read(tenant_id, async (db) => {
    for (const store_id of ids) if ((await findStore(db, store_id))?.sent_out) sent.add(store_id)
  })
  return sent
}

function listCompletions(
  pending: readonly PendingErasure[],
  certificates: ReadonlyMap<number, StoredCertificate>,
  completed_us: number,
) {
  return pending.flatMap(({ entry, plan }) => {
    const certificate = certificates.get(plan.ref)
    return certificate ? [{ ledger_id: entry.ledger_id, certificate, completed_us }] : []
  })
}

interface StatementParts {
  readonly observed: FactVerification
  readonly requested_us: number
  readonly completed_us: number
  /** `null` if nothing was erased, as no log entry then records it. */
  readonly log_seq: number | null
  readonly limits: readonly string[]
}

function factStatement(
  tenant_id: string,
  subject: ErasureSubject &
    ErasureReasons &
    Pick<ErasureStatement, 'certificate_id' | 'fact_content_hash' | 'redactions'>,
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

/** Same as `storeCertificates`, for one certificate. */
export async function storeCertificate(
  kernel: Kernel,
  tx: Tx,
  certificate: StoredCertificate,
  completed_us: number,
): Promise<StoredCertificate> {
  const [stored = certificate] = await storeCertificates(kernel, tx, [certificate], completed_us)
  return stored
}

/**
 * Stores certificates of different subjects, each with its log entry, unless another process that
 * finished the same erasure has stored its own. Returns the stored ones. A certificate of
 * nothing_found never becomes the standing certificate of a memory.
 */
async function storeCertificates(
  { metrics }: Kernel,
  tx: Tx,
  certificates: readonly StoredCertificate[],
  completed_us: number,
): Promise<StoredCertificate[]> {
  const findFirst = await loadFirst(tx, certificates)
  const stored: StoredCertificate[] = []
  const rows: Parameters<typeof insertCertificates>[1][number][] = []
  for (const certificate of certificates) {
    const first = findFirst(certificate)
    stored.push(first ?? certificate)
    if (first) continue
    const { certificate_id, outcome, fact_ref } = certificate
    const { subject_kind, subject } = subjectOf(certificate)
    const self_test = isSelfTest(certificate)
    const { seq } = await appendCrumb(tx, {
      event_type: 'erasure.certified',
      subject: certificate_id,
      payload: {
        subject_kind,
        ref: fact_ref,
        outcome,
        scrubbed: certificate.scrubbed_decision_ids.length,
        digest: certificateDigest(certificate),
        ...(self_test && { self_test }),
      },
    })
    rows.push({
      certificate_id,
      subject_kind,
      subject: stands(certificate) ? subject : '',
      stands: stands(certificate) ? 1 : 0,
      outcome,
      completed_us,
      log_seq: seq,
      record: JSON.stringify(certificate),
    })
    if (self_test) tx.needs(insertSelfTestCertificate(tx, certificate_id))
    else if (outcome === 'erased') meterErasure(tx)
    if (!self_test) tx.afterCommit(() => metrics.countCertificate(outcome))
    if (stands(certificate) && fact_ref !== null)
      tx.needs(setTombstoneCertificate(tx, fact_ref, certificate_id))
  }
  tx.needs(insertCertificates(tx, rows))
  return stored
}

const stands = ({ outcome }: StoredCertificate): boolean => outcome !== 'nothing_found'

/** Finds what is already stored for a certificate: the standing one of its subject, or itself. */
async function loadFirst(
  tx: Tx,
  certificates: readonly StoredCertificate[],
): Promise<(certificate: StoredCertificate) => StoredCertificate | undefined> {
  const keyOf = (kind: string, subject: string) => `${kind}:${subject}`
  const standing = new Map<string, string>()
  const subjects = certificates.filter(stands).map(subjectOf)
  for (const [kind, own] of Map.groupBy(subjects, ({ subject_kind }) => subject_kind)) {
    const named = own.map(({ subject }) => subject)
    for (const { subject, record } of await listStandingCertificates(tx, kind, named))
      standing.set(keyOf(kind, subject), record)
  }
  const ids = certificates.map(({ certificate_id }) => certificate_id)
  const same = new Map(
    (await findCertificates(tx, ids)).map((row) => [row.certificate_id, row.record]),
  )
  return (certificate) => {
    const { subject_kind, subject } = subjectOf(certificate)
    const other = stands(certificate) ? standing.get(keyOf(subject_kind, subject)) : undefined
    const record = other ?? same.get(certificate.certificate_id)
    return record === undefined ? undefined : parseCertificate(record)
  }
}

function subjectOf({ fact_ref, decision_id = '', ...other }: StoredCertificate) {
  const { subject_kind: kind, subject_id: id = '' } = other
  if (fact_ref !== null) return { subject_kind: 'fact', subject: String(fact_ref) } as const
  if (kind === undefined) return { subject_kind: 'decision', subject: decision_id } as const
  return { subject_kind: 'text', subject: textSubject({ kind, id }) } as const
}

/** Finds certificates that are stored although their ledger rows are still requested. */
async function findStoredCertificates(
  kernel: Kernel,
  tenant_id: string,
  pending: readonly PendingErasure[],
): Promise<Map<number, StoredCertificate>> {
  const subjects = pending.map(({ plan }) => String(plan.ref))
  const rows = await kernel.db.read(tenant_id, (db) =>
    listStandingCertificates(db, 'fact', subjects),
  )
  return new Map(rows.map(({ subject, record }) => [Number(subject), parseCertificate(record)]))
}

/**
 * Certifies that nothing here names the ref; such a certificate never stands for a memory. Returns
 * `null` if a memory or a decision has taken the number meanwhile.
 */
export async function certifyNothing(
  kernel: Kernel,
  tenant_id: string,
  {
    ref,
    certificate_id,
    reasons,
    requested_us,
  }: Pick<ErasureBatch['marked'][number], 'ref' | 'certificate_id' | 'reasons'> &
    Pick<ErasureBatch, 'requested_us'>,
): Promise<StoredCertificate | null> {
  const outcome = 'nothing_found'
  const subject = { ref, store_id: null, outcome } as const
  const observed = (await verifyErasure(kernel, tenant_id, [subject], new Map())).get(ref)
  if (!observed?.gone) return null
  const completed_us = kernel.clock.now()
  const statement = factStatement(
    tenant_id,
    { ...subject, ...reasons, certificate_id, fact_content_hash: null, redactions: [] },
    {
      observed,
      requested_us,
      completed_us,
      log_seq: null,
      limits: listLimits({
        engine: kernel.db.stats().engine,
        kind: 'fact',
        outcome,
        with_words: false,
      }),
    },
  )
  const certificate = await signStatement(kernel, statement)
  return kernel.db.transact(tenant_id, async (tx) => {
    const taken = (await findFactRows(tx, [ref])).length > 0 || (await isNamedByDecision(tx, ref))
    if (taken) return null
    return storeCertificate(kernel, tx, certificate, completed_us)
  })
}
