// The keys a verification trusts: a published list, or bare public keys given by hand.

import { fromHex, type PublishedKey, readKeys, sha256, toHex } from '@custos/proof'
import { CommandError, UsageError } from '../command.ts'

// A key is named by the start of its digest, in one length or the other.
const ID_LENGTHS = [32, 16] as const
const PURPOSES = [
  'decision',
  'provenance',
  'checkpoint',
  'erasure',
  'record',
  'cgr_attestation',
] as const

/** The answer of GET /v1/gcrumbs/public_key, or the bare list in it. */
export function parseKeyList(text: string, path: string): readonly PublishedKey[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw new CommandError(`${path} is not JSON`)
  }
  const list =
    typeof parsed === 'object' && parsed !== null && 'keys' in parsed ? parsed.keys : parsed
  const keys = readKeys(list)
  if (keys.length === 0) throw new CommandError(`${path} lists no keys`)
  return keys
}

/** A key without its list: trusted for every purpose and at every time. */
export function bareKey(hex: string): PublishedKey[] {
  if (!/^[0-9a-fA-F]{64}$/.test(hex)) throw new UsageError('--key takes 64 hex digits')
  const public_key = hex.toLowerCase()
  const digest = toHex(sha256(fromHex(public_key)))
  return ID_LENGTHS.flatMap((length) =>
    PURPOSES.map((purpose) => ({
      key_id: digest.slice(0, length),
      purpose,
      public_key,
      valid_from: '1970-01-01T00:00:00Z',
      retired_at: null,
    })),
  )
}
