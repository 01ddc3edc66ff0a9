// An audit: the suite's result signed by the service, stored, and its digest put on the log.

import assert from 'node:assert/strict'
import { type JsonObject, signedBytes, verifyEnvelope } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { appendCrumb, nextSeq, sha256 } from '../gcrumbs/index.ts'
import { insertAudit } from './audits.sql.ts'

const ID_BYTES = 16
const MILLION = 1_000_000

/** The members of a conformance result that are read; the others are stored unchanged. */
export interface AuditMeasure {
  readonly store_ids: readonly string[]
  readonly capabilities: readonly { readonly capability: string; readonly verdict: string }[]
  readonly passed: number
  readonly tested: number
}

export interface SignedAudit {
  readonly audit_id: string
  readonly audited_us: number
  readonly record: JsonObject
  readonly record_digest: string
  readonly measured: AuditMeasure
}

/** Signs before the unit of work that stores it, and verifies before anybody sees it. */
export async function signAudit(
  kernel: Kernel,
  tenant_id: string,
  { result, measured }: { result: JsonObject; measured: AuditMeasure },
): Promise<SignedAudit> {
  const signer = kernel.keyring.signer('record')
  const audit_id = kernel.ids.hex(ID_BYTES)
  const audited_us = kernel.clock.now()
  const document: JsonObject = {
    ...result,
    record_kind: 'conformance_result',
    audit_id,
    tenant_id,
    created_at: formatTime(audited_us),
  }
  const message = signedBytes('conformance_result', document)
  const record: JsonObject = {
    ...document,
    signature: signer.sign(message).toString('base64'),
    public_key: signer.public_key.toString('base64'),
    key_id: signer.key_id,
  }
  const keys = kernel.keyring.publishedKeys()
  const envelope = { type: 'record', kind: 'conformance_result', record } as const
  const verdict = await verifyEnvelope(envelope, { keys })
  assert(verdict.valid, `an audit that does not verify was made: ${verdict.reason}`)
  const record_digest = Buffer.from(sha256(message)).toString('hex')
  return { audit_id, audited_us, record, record_digest, measured }
}

/** In the unit of work that ends the run. */
export async function recordAudit(tx: Tx, run_id: string, audit: SignedAudit): Promise<void> {
  const { passed, tested, capabilities, store_ids } = audit.measured
  const rate_e6 = tested === 0 ? 0 : Math.round((passed * MILLION) / tested)
  const passing = capabilities.filter(({ verdict }) => verdict === 'pass')
  await insertAudit(tx, {
    seq: await nextSeq(tx),
    audit_id: audit.audit_id,
    run_id,
    store_id: store_ids[0] ?? null,
    rate_e6,
    capabilities: JSON.stringify(passing.map(({ capability }) => capability)),
    audited_us: audit.audited_us,
    record: JSON.stringify(audit.record),
  })
  await appendCrumb(tx, {
    event_type: 'conformance.audited',
    subject: audit.audit_id,
    payload: { run_id, rate_e6, passed, tested, record_digest: audit.record_digest },
  })
}
