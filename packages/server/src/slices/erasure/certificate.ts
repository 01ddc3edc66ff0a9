// The certificate: signed in this process, verified before it leaves, shown with its signed bytes.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Certificate } from '@custos/contract'
import {
  certificateBytes,
  type ErasureStatement,
  type PublishedKey,
  verifyCertificate,
} from '@custos/proof'
import type { Kernel } from '../../platform/kernel.ts'
import type { Signer } from '../../platform/keys/keyring.ts'
import { KeyringError } from '../../platform/keys/keyring-error.ts'
import { Refusal } from '../../platform/refusal.ts'

/** What is stored: the statement and its signature. The signed bytes follow from it. */
export type StoredCertificate = ErasureStatement & {
  readonly signature: string
  readonly public_key: string
  readonly key_id: string
}

/** The current erasure key. Without one nothing may be deleted, so ask before the first step. */
export function erasureSigner(kernel: Kernel): Signer {
  try {
    return kernel.keyring.signer('erasure')
  } catch (error) {
    if (error instanceof KeyringError && error.code === 'no_signing_key')
      throw new Refusal('no_signing_key')
    throw error
  }
}

export async function signStatement(
  kernel: Kernel,
  statement: ErasureStatement,
): Promise<StoredCertificate> {
  const signer = erasureSigner(kernel)
  const stored: StoredCertificate = {
    ...statement,
    signature: signer.sign(certificateBytes(statement)).toString('base64'),
    public_key: signer.public_key.toString('base64'),
    key_id: signer.key_id,
  }
  const verdict = await verifyCertificate(stored, kernel.keyring.publishedKeys())
  assert(verdict.valid, `a certificate that does not verify was made: ${verdict.reason}`)
  return stored
}

/** Lower hex SHA-256 of the signed bytes: what the log carries about a certificate. */
export const certificateDigest = (stored: StoredCertificate): string =>
  createHash('sha256').update(signedBytesOf(stored)).digest('hex')

function signedBytesOf(stored: StoredCertificate): Uint8Array {
  return certificateBytes(statementOf(stored))
}

export function statementOf(stored: StoredCertificate): ErasureStatement {
  const { signature: _, public_key: _key, key_id: _id, ...statement } = stored
  return statement
}

/** Only this slice writes the column, and only certificates that verified. */
export const readRecord = (record: string): StoredCertificate =>
  JSON.parse(record) as StoredCertificate

/** The certificate as answered: `verified` is found now, against the keys published now. */
export async function showCertificate(
  stored: StoredCertificate,
  keys: readonly PublishedKey[],
): Promise<Certificate> {
  const verdict = await verifyCertificate(stored, keys)
  const { signature, public_key, key_id, ...statement } = stored
  return {
    ...statement,
    coverage: { ...statement.coverage },
    scrubbed_decision_ids: [...statement.scrubbed_decision_ids],
    redactions: statement.redactions.map((redaction) => ({ ...redaction })),
    verification: {
      ran_at: statement.verification.ran_at,
      paths: statement.verification.paths.map((path) => ({ ...path })),
    },
    limits: [...statement.limits],
    signed_bytes: Buffer.from(certificateBytes(statement)).toString('base64'),
    signature,
    public_key,
    key_id,
    verified: verdict.valid,
  }
}
