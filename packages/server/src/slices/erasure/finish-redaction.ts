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
import { type PendingErasure, type RedactionPlan, reportStep, textSubject } from './plan.ts'

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
  pending: PendingErasure<'decision'>,
): Promise<StoredCertificate | null> {
  const { plan } = pending
  const { decision_id, redactions } = plan.redaction
  await applyRedactionPlan(kernel, tenant_id, plan)
  return certifyOnce(kernel, tenant_id, pending, {
    subject: decision_id,
    names: { decision_id },
    redactions: redactions.map((done) => ({ decision_id, ...done })),
    limits: listLimits({
      engine: kernel.db.stats().engine,
      kind: 'decision',
      outcome: 'erased',
      with_words: true,
    }),
    observe: () => observeRedaction(kernel, tenant_id, plan),
  })
}

/** Once the text is replaced: the certificate that stands for it, or a new one. */
async function certifyOnce(
  kernel: Kernel,
  tenant_id: string,
  pending: PendingErasure<'decision'> | PendingErasure<'text'>,
  about: Parameters<typeof certifyObserved>[3] & { readonly subject: string },
): Promise<StoredCertificate | null> {
  await reportStep(kernel, 'applied')
  await reportStep(kernel, 'caches_dropped')

  const found = await kernel.db.read(tenant_id, (db) =>
    findStandingCertificate(db, pending.plan.kind, about.subject),
  )
  const certificate = found
    ? parseCertificate(found.record)
    : await certifyObserved(kernel, tenant_id, pending, about)
  if (!certificate) return null
  const { ledger_id } = pending.entry
  const completed_us = kernel.clock.now()
  await kernel.keyring.ledger.complete([{ ledger_id, certificate, completed_us }])
  await reportStep(kernel, 'completed')
  return certificate
}

async function certifyObserved(
  kernel: Kernel,
  tenant_id: string,
  { entry, plan }: PendingErasure<'decision'> | PendingErasure<'text'>,
  about: Pick<ErasureStatement, 'redactions' | 'limits'> & {
    readonly names: Pick<ErasureStatement, 'decision_id' | 'subject_kind' | 'subject_id'>
    readonly observe: () => ReturnType<typeof observeRedaction>
  },
): Promise<StoredCertificate | null> {
  const observed = await about.observe()
  await reportStep(kernel, 'verified')
  const { certificate_id } = plan
  if (!observed.gone) {
    kernel.logger.error('erasure.not_verified', { tenant_id, certificate_id })
    return null
  }
  const log_seq = await kernel.db.read(tenant_id, async (db) => {
    const from = Math.max(0, await seqAt(db, entry.requested_us))
    return (await findRedactionEntry(db, from, certificate_id))?.seq ?? null
  })
  const completed_us = kernel.clock.now()
  const certificate = await signStatement(kernel, {
    certificate_id,
    tenant_id,
    fact_ref: null,
    ...about.names,
    store_id: null,
    outcome: 'erased',
    fact_content_hash: plan.content_hash,
    coverage: observed.coverage,
    scrubbed_decision_ids: observed.scrubbed_decision_ids,
    redactions: about.redactions,
    verification: { ran_at: observed.ran_at, paths: observed.paths },
    limits: about.limits,
    legal_basis: plan.legal_basis,
    requested_by: plan.requested_by,
    erasure_requested_at: formatTime(entry.requested_us),
    erasure_completed_at: formatTime(completed_us),
    log_seq,
  })
  const stored = await kernel.db.transact(tenant_id, (tx) =>
    storeCertificate(kernel, tx, certificate, completed_us),
  )
  await reportStep(kernel, 'certified')
  return stored
}

async function observeRedaction(kernel: Kernel, tenant_id: string, { redaction }: RedactionPlan) {
  const { decision_id, old_secret_no } = redaction
  const probed = await probeRedaction(kernel, tenant_id, decision_id)
  const keyring = await observeSecret(kernel, tenant_id, old_secret_no)
  const data: string = probed.find(({ result }) => result !== 'scrubbed')?.result ?? 'scrubbed'
  const paths: { path: string; result: string }[] = [
    { path: 'keyring', result: keyring },
    ...probed,
  ]
  return {
    ran_at: formatTime(kernel.clock.now()),
    paths,
    scrubbed_decision_ids: data === 'scrubbed' ? [decision_id] : [],
    coverage: { data, keyring },
    gone: paths.every(({ result }) => result !== 'present'),
  }
}

export function loadSource(kernel: Kernel, kind: TextKind): TextSource {
  const source = findTextSource(kernel, kind)
  if (!source) throw new Error(`nothing here keeps records of the kind ${kind}`)
  return source
}

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
  pending: PendingErasure<'text'>,
): Promise<StoredCertificate | null> {
  const { plan } = pending
  const { text_kind: kind, text_id: id } = plan
  await applyTextPlan(kernel, tenant_id, plan)
  return certifyOnce(kernel, tenant_id, pending, {
    subject: textSubject({ kind, id }),
    names: { subject_kind: kind, subject_id: id },
    redactions: [],
    limits: listTextLimits(kernel.db.stats().engine, plan),
    observe: () => observeText(kernel, tenant_id, plan),
  })
}

/** Reads the record and its secret again to verify the redaction. */
async function observeText(
  kernel: Kernel,
  tenant_id: string,
  plan: PendingErasure<'text'>['plan'],
): ReturnType<typeof observeRedaction> {
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
    scrubbed_decision_ids: [],
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
