// decisions.redact: erases a decision's own text like a memory, with a certificate. Jobs use it
// too, also for texts of records that are neither memories nor decisions.

import type { decisionErasure, TextKind } from '@custos/contract'
import { canonicalize, contentHash } from '@custos/proof'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import { requestErasures, runErasure } from '../../platform/kernel/erasure-queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { RedactedColumns, SealedText } from '../../platform/kernel/text-source.ts'
import { Refusal } from '../../platform/refusal.ts'
import {
  type PlannedRedaction,
  planRedaction,
  refuseHeldDecision,
  retryPlanning,
} from '../decisions/index.ts'
import { legalHoldRefusal, loadHeldStores } from '../memory/index.ts'
import { meter } from '../tenants/index.ts'
import { type ErasureReasons, erasureSigner, fillReasons, parseCertificate } from './certificate.ts'
import { UnprovenErasure } from './certify.ts'
import { type ErasureResult, showResult } from './erase.ts'
import { findDecisionStore, findStandingCertificate } from './erasure.sql.ts'
import { finishRedaction, finishText, loadSource } from './finish-redaction.ts'
import { type PendingErasure, type RedactionPlan, reportStep, textSubject } from './plan.ts'
import { finishPendingErasures } from './recover.ts'

export const redact: Handler<(typeof decisionErasure)['redact']> = async (
  call,
  { params, body },
) => {
  const { kernel, tenant_id } = call
  erasureSigner(kernel)
  const answer = await runErasure(kernel, tenant_id, async (): Promise<ErasureResult> => {
    const requested_us = kernel.clock.now()
    const { unfinished } = await finishPendingErasures(kernel, tenant_id)
    if (unfinished.has(`decision:${params.decision_id}`)) throw new UnprovenErasure()
    const { certificate, certificate_id } = await findOrMintCertificate(call, params.decision_id)
    if (certificate) {
      const deleted = certificate.certificate_id === certificate_id
      return { certificate, deleted, content_salt: null }
    }
    const request = { ...fillReasons(body), requested_us, certificate_id }
    return redactDecisionText(kernel, tenant_id, params.decision_id, request)
  })
  return showResult(kernel, answer)
}

/** The certificate if there is one; its id, or one that the first run of the request minted. */
function findOrMintCertificate(
  call: Call<(typeof decisionErasure)['redact']>,
  decision_id: string,
) {
  const find = async (tx: Tx, certificate_id: string) => {
    meter(tx, call.operation.id)
    const row = await findDecisionStore(tx, decision_id)
    const { allowed_stores } = call.principal
    if (!row || (allowed_stores.length > 0 && !allowed_stores.includes(row.store_id)))
      return call.refuse('decision_not_found')
    const standing = await findStandingCertificate(tx, 'decision', decision_id)
    if (!standing) await refuseHeldDecision(tx, decision_id, tx.now())
    return { certificate: standing ? parseCertificate(standing.record) : null, certificate_id }
  }
  const minted = call.kernel.ids.hex(16)
  return call.once({
    run: async (tx) => ({ reply: await find(tx, minted), ids: { certificate_id: minted } }),
    replay: (tx, ids) => find(tx, String(ids['certificate_id'])),
  })
}

async function redactDecisionText(
  kernel: Kernel,
  tenant_id: string,
  decision_id: string,
  request: ErasureReasons & { readonly requested_us: number; readonly certificate_id: string },
): Promise<ErasureResult> {
  const { requested_us, certificate_id, legal_basis, requested_by } = request
  await reportStep(kernel, 'marked')
  const planned = await retryPlanning(kernel, tenant_id, {
    plan: () => planDecisionText(kernel, tenant_id, decision_id),
    planned_from: (made) => new Map([[made.plan.decision_seq, made.planned_from]]),
    // The plan is not stored anywhere yet.
    drop: async () => {},
  })
  const content_salt = kernel.ids.hex(32)
  const plan: RedactionPlan = {
    version: 1,
    kind: 'decision',
    certificate_id,
    redaction: {
      ...planned.plan,
      redactions: planned.plan.redactions.map((done) => ({ ...done })),
    },
    content_hash: contentHash(Buffer.from(content_salt, 'hex'), planned.hash_input),
    legal_basis,
    requested_by,
  }
  const pending = await requestRedaction(kernel, tenant_id, { plan, requested_us })
  const certificate = await finishRedaction(kernel, tenant_id, pending)
  if (!certificate) throw new UnprovenErasure()
  return { certificate, deleted: true, content_salt }
}

async function planDecisionText(
  kernel: Kernel,
  tenant_id: string,
  decision_id: string,
): Promise<PlannedRedaction> {
  const planned = await planRedaction(kernel, tenant_id, decision_id)
  if (!planned) throw new Error('the decision is gone although decisions are never removed')
  await reportStep(kernel, 'planned')
  return planned
}

/** After this the redaction can only be finished. */
async function requestRedaction(
  kernel: Kernel,
  tenant_id: string,
  { plan, requested_us }: { plan: RedactionPlan; requested_us: number },
): Promise<PendingErasure<'decision'>> {
  const { old_secret_no, decision_id } = plan.redaction
  const [entry] = await requestErasures(kernel, tenant_id, [
    {
      tenant_id,
      subject_kind: 'decision',
      subject: decision_id,
      store_id: null,
      requested_us,
      plan,
      destroys: [{ kind: 'decision', number: old_secret_no }],
    },
  ])
  if (!entry) throw new Error('the ledger answered no row for a request')
  await reportStep(kernel, 'ledger_recorded')
  await kernel.keyring.destroySecrets(tenant_id, 'decision', [old_secret_no])
  await reportStep(kernel, 'key_destroyed')
  return { entry, plan }
}

/**
 * Redacts a decision for a job. Returns the certificate's id, or `null` if there is no such
 * decision. Refuses `legal_hold`. Safe to run again.
 */
export async function redactDecision(
  kernel: Kernel,
  tenant_id: string,
  { decision_id, reasons }: { readonly decision_id: string; readonly reasons: ErasureReasons },
): Promise<string | null> {
  erasureSigner(kernel)
  return runErasure(kernel, tenant_id, async () => {
    const requested_us = kernel.clock.now()
    const { unfinished } = await finishPendingErasures(kernel, tenant_id)
    if (unfinished.has(`decision:${decision_id}`)) throw new UnprovenErasure()
    const found = await kernel.db.read(tenant_id, async (db) => {
      const standing = await findStandingCertificate(db, 'decision', decision_id)
      if (standing) return { certificate_id: standing.certificate_id }
      if (!(await findDecisionStore(db, decision_id))) return { certificate_id: null }
      await refuseHeldDecision(db, decision_id, requested_us)
      return undefined
    })
    if (found) return found.certificate_id
    const certificate_id = kernel.ids.hex(16)
    await redactDecisionText(kernel, tenant_id, decision_id, {
      ...reasons,
      requested_us,
      certificate_id,
    })
    return certificate_id
  })
}

/**
 * Erases a text for a job. Returns the certificate's id, or `null` if there is no such record.
 * Refuses `legal_hold`. Safe to run again.
 */
export async function redactText(
  kernel: Kernel,
  tenant_id: string,
  request: Pick<PreparedText, 'kind' | 'id' | 'reasons'>,
): Promise<string | null> {
  erasureSigner(kernel)
  const { kind, id } = request
  const subject = textSubject({ kind, id })
  return runErasure(kernel, tenant_id, async () => {
    const requested_us = kernel.clock.now()
    const { unfinished } = await finishPendingErasures(kernel, tenant_id)
    if (unfinished.has(`text:${subject}`)) throw new UnprovenErasure()
    const standing = await kernel.db.read(tenant_id, (db) =>
      findStandingCertificate(db, 'text', subject),
    )
    if (standing) return standing.certificate_id
    const source = loadSource(kernel, kind)
    const text = await source.find(kernel, tenant_id, id)
    const columns = await source.prepare(kernel, tenant_id, id)
    if (text === null || text === 'redacted' || columns === null) return null
    await refuseHeldText(kernel, tenant_id, text)
    const plan = planText(kernel, { ...request, text, columns })
    const pending = await requestTextErasure(kernel, tenant_id, { plan, requested_us })
    const certificate = await finishText(kernel, tenant_id, pending)
    if (!certificate) throw new UnprovenErasure()
    return plan.certificate_id
  })
}

async function refuseHeldText(
  kernel: Kernel,
  tenant_id: string,
  { store_id, held }: SealedText,
): Promise<void> {
  if (held) throw new Refusal('legal_hold', 'the record is a rule in force: change it first')
  if (store_id === null) return
  const stores = await kernel.db.read(tenant_id, (db) => loadHeldStores(db, kernel.clock.now()))
  if (stores.has(store_id)) throw legalHoldRefusal(store_id)
}

interface PreparedText {
  readonly kind: TextKind
  readonly id: string
  readonly reasons: ErasureReasons
  readonly text: SealedText
  readonly columns: RedactedColumns
}

function planText(
  kernel: Kernel,
  { kind, id, reasons, text, columns }: PreparedText,
): PendingErasure<'text'>['plan'] {
  // Nobody is shown the salt: records are inspected before a redaction, not after it.
  const salt = Buffer.from(kernel.ids.hex(32), 'hex')
  return {
    version: 1,
    kind: 'text',
    certificate_id: kernel.ids.hex(16),
    text_kind: kind,
    text_id: id,
    secret_no: text.secret_no,
    columns: columns.map((column) => column.toString('base64')),
    content_hash: contentHash(salt, canonicalize(text.content)),
    ...reasons,
  }
}

/** After this the redaction can only be finished. */
async function requestTextErasure(
  kernel: Kernel,
  tenant_id: string,
  { plan, requested_us }: { plan: PendingErasure<'text'>['plan']; requested_us: number },
): Promise<PendingErasure<'text'>> {
  const { secret_no } = plan
  const numbers = secret_no === null ? [] : [secret_no]
  const [entry] = await requestErasures(kernel, tenant_id, [
    {
      tenant_id,
      subject_kind: 'text',
      subject: textSubject({ kind: plan.text_kind, id: plan.text_id }),
      store_id: null,
      requested_us,
      plan,
      destroys: numbers.map((number) => ({ kind: 'decision', number })),
    },
  ])
  if (!entry) throw new Error('the ledger answered no row for a request')
  await reportStep(kernel, 'ledger_recorded')
  await kernel.keyring.destroySecrets(tenant_id, 'decision', numbers)
  await reportStep(kernel, 'key_destroyed')
  return { entry, plan }
}
