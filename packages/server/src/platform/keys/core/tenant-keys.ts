// Derives record keys from the tenant key and the record secrets, and computes label digests.

import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto'
import type { TenantKeys } from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'
import { isErased, SECRET_BYTES } from '../secret-bytes.ts'

const DECISION_ID = /^[0-9a-f]{32}$/
const DECISION_ID_BYTES = 16

/** Tenant keys that can be wiped. After that, no code that has this object can derive a key. */
export interface WipeableTenantKeys extends TenantKeys {
  /** After this, deriving a key throws `tenant_destroyed`. */
  wipe(): void
}

/**
 * `tenant_key` and `label_salt` are 32 bytes each. Both buffers are filled with zeros. The object
 * keeps copies of them until `wipe`.
 */
export function tenantKeys(
  tenant_id: string,
  tenant_key: Buffer,
  label_salt: Buffer,
): WipeableTenantKeys {
  const factPrefix = prefixOf('custos/fact-key/v1', tenant_key)
  const decisionPrefix = prefixOf('custos/decision-key/v1', tenant_key)
  let salt: KeyObject | null = createSecretKey(label_salt)
  tenant_key.fill(0)
  label_salt.fill(0)
  const live = (): KeyObject => {
    if (salt) return salt
    throw new KeyringError('tenant_destroyed', `the keys of tenant ${tenant_id} are destroyed`)
  }
  const derive = (parts: readonly Uint8Array[]): KeyObject => {
    live()
    return deriveKey(parts)
  }
  return {
    tenant_id,
    factKey: (secret) => derive([factPrefix, checked(secret)]),
    decisionKey: (decision_id, secrets) =>
      derive([decisionPrefix, idBytes(decision_id), ...secrets.map(checked)]),
    label: (text) => createHmac('sha256', live()).update(text).digest('hex'),
    wipe: () => {
      factPrefix.fill(0)
      decisionPrefix.fill(0)
      salt = null
    },
  }
}

function prefixOf(domain: string, tenant_key: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${domain}\n`), tenant_key])
}

function deriveKey(parts: readonly Uint8Array[]): KeyObject {
  const material = Buffer.concat(parts)
  const digest = hash('sha256', material, 'buffer')
  const key = createSecretKey(digest)
  material.fill(0)
  digest.fill(0)
  return key
}

// A destroyed secret reads as zeros. Anyone who has the tenant key could open data that is sealed
// under zeros, so this last check before a key is derived refuses them.
function checked(secret: Buffer): Buffer {
  if (secret.length !== SECRET_BYTES || isErased(secret))
    throw new KeyringError('bad_secret', `a secret must be ${SECRET_BYTES} bytes and not destroyed`)
  return secret
}

function idBytes(decision_id: string): Buffer {
  if (!DECISION_ID.test(decision_id))
    throw new KeyringError('bad_argument', 'decision_id must be 32 lower hex digits')
  return Buffer.from(decision_id, 'hex').subarray(0, DECISION_ID_BYTES)
}
