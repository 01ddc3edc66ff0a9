// Erases the texts of a record that is neither a memory nor a decision, certificate included. The
// record stays, with its id, its digests and its log entries.

import type { TextKind } from '@custos/contract'
import { canonicalize, contentHash } from '@custos/proof'
import { requestErasures, runErasure } from '../../platform/kernel/erasure-queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { RedactedColumns, SealedText } from '../../platform/kernel/text-source.ts'
import { Refusal } from '../../platform/refusal.ts'
import { legalHoldRefusal, loadHeldStores } from '../memory/index.ts'
import { type ErasureReasons, erasureSigner } from './certificate.ts'
import { UnprovenErasure } from './certify.ts'
import { findStandingCertificate } from './erasure.sql.ts'
import { finishText, loadSource } from './finish-text.ts'
import { type PendingErasure, type TextPlan, textSubject } from './plan.ts'
import { finishPendingErasures } from './recover.ts'
import { reportStep } from './steps.ts'

interface RedactTextRequest {
  readonly kind: TextKind
  readonly id: string
  readonly reasons: ErasureReasons
}

/**
 * Erases for a job. Returns the id of the certificate; null: there is no such record. Refuses
 * `legal_hold`. Safe to run again.
 */
export async function redactText(
  kernel: Kernel,
  tenant_id: string,
  request: RedactTextRequest,
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

interface PreparedText extends RedactTextRequest {
  readonly text: SealedText
  readonly columns: RedactedColumns
}

function planText(kernel: Kernel, { kind, id, reasons, text, columns }: PreparedText): TextPlan {
  // The salt is shown to nobody: a record is looked at before it is redacted, not after.
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

/** From here the redaction can only be finished. */
async function requestTextErasure(
  kernel: Kernel,
  tenant_id: string,
  { plan, requested_us }: { plan: TextPlan; requested_us: number },
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
