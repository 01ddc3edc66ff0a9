// Finishes redactions of decisions and other records from their plans alone: replaces the text,
// verifies that, certifies.

import { TEXT_KINDS, type TextKind } from '@custos/contract'
import type { ErasureStatement } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { findTextSource, type TextSource } from '../../platform/kernel/text-source.ts'
import { applyRedaction, probeRedaction } from '../decisions/index.ts'
import { appendCrumb, seqAt } from '../gcrumbs/index.ts'
import {
  destroyedKeyResult,
  listLimits,
  listTextLimits,
  parseCertificate,
  type StoredCertificate,
  signStatement,
} from './certificate.ts'
import { storeCertificate } from './certify.ts'
import { findRedactionEntry, findStandingCertificate } from './erasure.sql.ts'
import { type PendingErasure, type RedactionPlan, textSubject } from './plan.ts'
import { reportStep } from './steps.ts'

/** Does nothing if the decision is redacted already or not in these data. */
export function applyRedactionPlan(
  kernel: Kernel,
  tenant_id: string,
  { redaction, certificate_id }: RedactionPlan,
): Promise<void> {
  return kernel.db.transact(tenant_id, async (tx) => {
    if (!(await applyRedaction(tx, redaction))) return
    await appendCrumb(tx, {
      event_type: 'decision.redacted',
      subject: redaction.decision_id,
      payload: { certificate_id },
    })
  })
}

/** Returns `null` if a read path still shows the text: logged, not certified, retried later. */
export async function finishRedaction(
  kernel: Kernel,
  tenant_id: string,
  { entry, plan }: PendingErasure<'decision'>,
): Promise<StoredCertificate | null> {
  await applyRedactionPlan(kernel, tenant_id, plan)
  await reportStep(kernel, 'applied')
  await reportStep(kernel, 'caches_dropped')

  const found = await kernel.db.read(tenant_id, (db) =>
    findStandingCertificate(db, 'decision', plan.redaction.decision_id),
  )
  const certificate = found
    ? parseCertificate(found.record)
    : await certifyRedaction(kernel, tenant_id, { entry, plan })
  if (!certificate) return null
  const { ledger_id } = entry
  const completed_us = kernel.clock.now()
  await kernel.keyring.ledger.complete([{ ledger_id, certificate, completed_us }])
  await reportStep(kernel, 'completed')
  return certificate
}

async function certifyRedaction(
  kernel: Kernel,
  tenant_id: string,
  { entry, plan }: PendingErasure<'decision'>,
): Promise<StoredCertificate | null> {
  const observed = await verifyRedaction(kernel, tenant_id, plan)
  await reportStep(kernel, 'verified')
  if (!observed.gone) {
    const { certificate_id } = plan
    kernel.logger.error('erasure.not_verified', { tenant_id, certificate_id })
    return null
  }
  const log_seq = await kernel.db.read(tenant_id, async (db) => {
    const from = Math.max(0, await seqAt(db, entry.requested_us))
    return (await findRedactionEntry(db, from, plan.certificate_id))?.seq ?? null
  })
  const completed_us = kernel.clock.now()
  const statement = redactionStatement(kernel, tenant_id, {
    plan,
    observed,
    requested_us: entry.requested_us,
    completed_us,
    log_seq,
  })
  const certificate = await signStatement(kernel, statement)
  const stored = await kernel.db.transact(tenant_id, (tx) =>
    storeCertificate(kernel, tx, certificate, completed_us),
  )
  await reportStep(kernel, 'certified')
  return stored
}

interface RedactionVerification {
  readonly ran_at: string
  readonly paths: readonly { readonly path: string; readonly result: string }[]
  readonly coverage: Readonly<Record<string, string>>
  readonly gone: boolean
}

async function verifyRedaction(
  kernel: Kernel,
  tenant_id: string,
  { redaction }: RedactionPlan,
): Promise<RedactionVerification> {
  const probed = await probeRedaction(kernel, tenant_id, redaction.decision_id)
  const { old_secret_no } = redaction
  const secrets = await kernel.keyring.secrets(tenant_id, 'decision', [old_secret_no])
  const destroyed = (secrets.get(old_secret_no) ?? null) === null
  const keyring = destroyed ? destroyedKeyResult(kernel.db.stats().engine) : 'present'
  const shown = probed.find(({ result }) => result !== 'scrubbed')?.result
  const paths = [{ path: 'keyring', result: keyring }, ...probed]
  return {
    ran_at: formatTime(kernel.clock.now()),
    paths,
    coverage: { data: shown ?? 'scrubbed', keyring },
    gone: paths.every(({ result }) => result !== 'present'),
  }
}

interface RedactionStatementInput {
  readonly plan: RedactionPlan
  readonly observed: RedactionVerification
  readonly requested_us: number
  readonly completed_us: number
  readonly log_seq: number | null
}

function redactionStatement(
  kernel: Kernel,
  tenant_id: string,
  { plan, observed, requested_us, completed_us, log_seq }: RedactionStatementInput,
): ErasureStatement {
  const { decision_id, redactions } = plan.redaction
  return {
    certificate_id: plan.certificate_id,
    tenant_id,
    fact_ref: null,
    decision_id,
    store_id: null,
    outcome: 'erased',
    fact_content_hash: plan.content_hash,
    coverage: observed.coverage,
    scrubbed_decision_ids: observed.coverage['data'] === 'scrubbed' ? [decision_id] : [],
    redactions: redactions.map((done) => ({ decision_id, ...done })),
    verification: { ran_at: observed.ran_at, paths: observed.paths },
    limits: listLimits({
      engine: kernel.db.stats().engine,
      kind: 'decision',
      outcome: 'erased',
      with_words: true,
    }),
    legal_basis: plan.legal_basis,
    requested_by: plan.requested_by,
    erasure_requested_at: formatTime(requested_us),
    erasure_completed_at: formatTime(completed_us),
    log_seq,
  }
}

export function loadSource(kernel: Kernel, kind: TextKind): TextSource {
  const source = findTextSource(kernel, kind)
  if (!source) throw new Error(`nothing here keeps records of the kind ${kind}`)
  return source
}

const subjectOfPlan = ({ text_kind, text_id }: PendingErasure<'text'>['plan']): string =>
  textSubject({ kind: text_kind, id: text_id })

const kindOf = ({ text_kind }: PendingErasure<'text'>['plan']): TextKind => {
  const kind = TEXT_KINDS.find((known) => known === text_kind)
  if (kind === undefined) throw new Error('a plan names a kind that this version does not know')
  return kind
}

/** Does nothing if the record is redacted already or not in these data. */
export async function applyTextPlan(
  kernel: Kernel,
  tenant_id: string,
  plan: PendingErasure<'text'>['plan'],
): Promise<void> {
  const kind = kindOf(plan)
  const { text_id, certificate_id } = plan
  const source = loadSource(kernel, kind)
  const [first = '', ...rest] = plan.columns
  const decode = (column: string) => Buffer.from(column, 'base64')
  const columns = [decode(first), ...rest.map(decode)] as const
  await kernel.db.transact(tenant_id, async (tx) => {
    if (!(await source.apply(tx, text_id, columns, kernel))) return
    await appendCrumb(tx, {
      event_type: 'text.redacted',
      subject: text_id,
      payload: { text_kind: kind, certificate_id },
    })
  })
}

/** Returns `null` if the record still shows its texts: logged, not certified, retried later. */
export async function finishText(
  kernel: Kernel,
  tenant_id: string,
  { entry, plan }: PendingErasure<'text'>,
): Promise<StoredCertificate | null> {
  await applyTextPlan(kernel, tenant_id, plan)
  await reportStep(kernel, 'applied')
  await reportStep(kernel, 'caches_dropped')
  const found = await kernel.db.read(tenant_id, (db) =>
    findStandingCertificate(db, 'text', subjectOfPlan(plan)),
  )
  const certificate = found
    ? parseCertificate(found.record)
    : await certifyText(kernel, tenant_id, { entry, plan })
  if (!certificate) return null
  const completed_us = kernel.clock.now()
  await kernel.keyring.ledger.complete([{ ledger_id: entry.ledger_id, certificate, completed_us }])
  await reportStep(kernel, 'completed')
  return certificate
}

async function certifyText(
  kernel: Kernel,
  tenant_id: string,
  { entry, plan }: PendingErasure<'text'>,
): Promise<StoredCertificate | null> {
  const observed = await verifyText(kernel, tenant_id, plan)
  await reportStep(kernel, 'verified')
  if (!observed.gone) {
    const { certificate_id } = plan
    kernel.logger.error('erasure.not_verified', { tenant_id, certificate_id })
    return null
  }
  const log_seq = await kernel.db.read(tenant_id, async (db) => {
    const from = Math.max(0, await seqAt(db, entry.requested_us))
    return (await findRedactionEntry(db, from, plan.certificate_id))?.seq ?? null
  })
  const completed_us = kernel.clock.now()
  const statement: ErasureStatement = {
    certificate_id: plan.certificate_id,
    tenant_id,
    fact_ref: null,
    subject_kind: plan.text_kind,
    subject_id: plan.text_id,
    store_id: null,
    outcome: 'erased',
    fact_content_hash: plan.content_hash,
    coverage: observed.coverage,
    scrubbed_decision_ids: [],
    redactions: [],
    verification: { ran_at: observed.ran_at, paths: observed.paths },
    limits: listTextLimits(kernel.db.stats().engine, plan),
    legal_basis: plan.legal_basis,
    requested_by: plan.requested_by,
    erasure_requested_at: formatTime(entry.requested_us),
    erasure_completed_at: formatTime(completed_us),
    log_seq,
  }
  const certificate = await signStatement(kernel, statement)
  const stored = await kernel.db.transact(tenant_id, (tx) =>
    storeCertificate(kernel, tx, certificate, completed_us),
  )
  await reportStep(kernel, 'certified')
  return stored
}

/** Reads the record and its secret again to verify the redaction. */
async function verifyText(
  kernel: Kernel,
  tenant_id: string,
  plan: PendingErasure<'text'>['plan'],
): Promise<RedactionVerification> {
  const { secret_no, text_id } = plan
  const kind = kindOf(plan)
  const found = await loadSource(kernel, kind).find(kernel, tenant_id, text_id)
  const data = found === 'redacted' ? 'scrubbed' : found === null ? 'absent' : 'present'
  const keyring = await observeSecret(kernel, tenant_id, secret_no)
  return {
    ran_at: formatTime(kernel.clock.now()),
    paths: [
      { path: 'keyring', result: keyring },
      { path: kind, result: data },
    ],
    coverage: { data, keyring },
    gone: data !== 'present' && keyring !== 'present',
  }
}

async function observeSecret(
  { keyring, db }: Kernel,
  tenant_id: string,
  secret_no: number | null,
): Promise<string> {
  if (secret_no === null) return 'not_applicable'
  const secrets = await keyring.secrets(tenant_id, 'decision', [secret_no])
  const destroyed = (secrets.get(secret_no) ?? null) === null
  return destroyed ? destroyedKeyResult(db.stats().engine) : 'present'
}
