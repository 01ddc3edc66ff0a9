// Creates, opens and publishes the stored rows of signing keys.

import type { PublishedKey, SigningPurpose } from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'
import { newSeed, type SigningKey, signingKeyOf } from '../signer.ts'
import { type MasterHolder, type MasterRotation, unwrap, wrap } from '../wrap.ts'
import type { SigningKeyRow } from './signing-keys.sql.ts'

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

/** Creates a key that is current from `at` on. */
export function newSigningKeyRow(
  master: MasterHolder,
  purpose: SigningPurpose,
  at: string,
): SigningKeyRow {
  const seed = newSeed()
  const { key_id, public_key } = signingKeyOf(seed)
  const wrapped = wrap(master.key, { kind: 'signing-seed', owner: key_id }, seed)
  seed.fill(0)
  return { key_id, purpose, public_key, seed: wrapped, valid_from: at, retired_at: null }
}

/** Throws `keyring_damaged` if the seed does not open or belongs to another key. */
export function openSigningKey(
  master: MasterHolder,
  { key_id, public_key }: SigningKeyRow,
  wrapped: Uint8Array,
): SigningKey {
  const seed = unwrap(master, { kind: 'signing-seed', owner: key_id }, wrapped)
  const key = signingKeyOf(seed)
  seed.fill(0)
  if (!key.public_key.equals(public_key))
    throw new KeyringError('keyring_damaged', `signing key ${key_id} is not its public key`)
  return key
}

/** Wraps the seed of `key_id` under the next master key. */
export function rewrapSeed(
  key_id: string,
  wrapped: Uint8Array,
  { from, next }: MasterRotation,
): Buffer {
  const what = { kind: 'signing-seed', owner: key_id } as const
  return wrap(next.key, what, unwrap(from, what, wrapped))
}

export function publishedOf(row: SigningKeyRow): PublishedKey {
  return {
    key_id: row.key_id,
    purpose: row.purpose,
    public_key: Buffer.from(row.public_key).toString('hex'),
    valid_from: row.valid_from,
    retired_at: row.retired_at,
  }
}

/** Throws `bad_argument` unless `at` is a full time and not before the last change of the key. */
export function requireLaterChange(purpose: SigningPurpose, at: string, last: string): void {
  if (!TIME.test(at))
    throw new KeyringError('bad_argument', 'at must be RFC 3339 in UTC with six digits and Z')
  if (at >= last) return
  throw new KeyringError('bad_argument', `at lies before the last change of the ${purpose} key`)
}
