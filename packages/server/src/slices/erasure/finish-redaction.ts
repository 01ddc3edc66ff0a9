// Finishes the redaction of a decision from its plan alone: replaces the text, checks it,
// certifies.

import type { ErasureStatement } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { applyRedaction, probeRedaction } from '../decisions/index.ts'
import { appendCrumb, seqAt } from '../gcrumbs/index.ts'
import {
  destroyedKeyResult,
  listLimits,
  parseCertificate,
  type StoredCertificate,
  signStatement,
} from './certificate.ts'
import { storeCertificate } from './certify.ts'
import { findRedactionEntry, findStandingCertificate } from './erasure.sql.ts'
import type { PendingErasure, RedactionPlan } from './plan.ts'
import { reportStep } from './steps.ts'

/** Does nothing to a decision that is redacted already or not in these data. */
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

/** null when a read path still shows the text: logged, not certified, tried again later. */
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
    storeCertificate(tx, certificate, completed_us),
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
