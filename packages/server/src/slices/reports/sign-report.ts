// Signs a report with the key of the registries' records, and verifies before anybody sees it.

import assert from 'node:assert/strict'
import { type JsonObject, signedBytes, verifyEnvelope } from '@custos/proof'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { sha256 } from '../gcrumbs/index.ts'

export interface SignedReport {
  readonly report: JsonObject
  /** Lower hex SHA-256 of the signed bytes: what the log carries. */
  readonly record_digest: string
}

export async function signReport(kernel: Kernel, document: JsonObject): Promise<SignedReport> {
  const signer = kernel.keyring.signer('record')
  const message = signedBytes('report', document)
  const report: JsonObject = {
    ...document,
    signature: signer.sign(message).toString('base64'),
    public_key: signer.public_key.toString('base64'),
    key_id: signer.key_id,
  }
  const keys = kernel.keyring.publishedKeys()
  const verdict = await verifyEnvelope({ type: 'record', kind: 'report', record: report }, { keys })
  assert(verdict.valid, `a report that does not verify was made: ${verdict.reason}`)
  return { report, record_digest: Buffer.from(sha256(message)).toString('hex') }
}
