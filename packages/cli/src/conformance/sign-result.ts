// Signs a result of the suite, and looks at the signature before anybody else does.

import assert from 'node:assert/strict'
import type { ConformanceResult } from '@custos/conformance'
import {
  CONFORMANCE_KIND,
  CONFORMANCE_PURPOSE,
  type JsonObject,
  signedBytes,
  toHex,
  verifyConformanceResult,
} from '@custos/proof'
import type { OwnSigner } from '@custos/server'

/** The result as a record, with `signature` and `public_key` in base64. */
export async function signResult(
  result: ConformanceResult,
  signer: OwnSigner,
): Promise<JsonObject> {
  const body: JsonObject = { record_kind: CONFORMANCE_KIND, ...result }
  const record: JsonObject = {
    ...body,
    signature: signer.sign(signedBytes(CONFORMANCE_KIND, body)).toString('base64'),
    public_key: signer.public_key.toString('base64'),
    key_id: signer.key_id,
  }
  const key = {
    key_id: signer.key_id,
    purpose: CONFORMANCE_PURPOSE,
    public_key: toHex(signer.public_key),
    valid_from: '1970-01-01T00:00:00Z',
    retired_at: null,
  }
  const verdict = await verifyConformanceResult(record, [key])
  assert(verdict.valid, `a result that does not verify was made: ${verdict.reason}`)
  return record
}
