// The form of an API key: `cst_<class>_<30 base62><6 base62 CRC32>`, checkable without a look-up.

import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { CredentialClass } from '@custos/contract'
import type { Ids } from '../../platform/ids.ts'

const CLASS_CODES: Readonly<Record<CredentialClass, string>> = {
  tenant: 't',
  read_only: 'r',
  service: 's',
  operator: 'o',
  token: 'n',
}
const RANDOM_CHARS = 30
const CHECKSUM_CHARS = 6
const PREFIX_CHARS = 10
const FORM = /^cst_[trson]_[0-9A-Za-z]{36}$/
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Makes a new key with 178 bits of randomness. */
export function mintApiKey(ids: Ids, credentialClass: CredentialClass): string {
  const body = `cst_${CLASS_CODES[credentialClass]}_${ids.base62(RANDOM_CHARS)}`
  return body + checksum(body)
}

/** Whether the text has the form and checksum of a key, so that typing errors cost no look-up. */
export function isApiKey(text: string): boolean {
  if (!FORM.test(text)) return false
  const body = text.slice(0, -CHECKSUM_CHARS)
  return text.slice(-CHECKSUM_CHARS) === checksum(body)
}

/** The stored hash of a key, 32 bytes. Header values are bytes carried as latin1 text. */
export const hashApiKey = (key: string): Buffer =>
  hash('sha256', Buffer.from(key, 'latin1'), 'buffer')

/** The first characters of a key, which lists show. */
export const keyPrefix = (key: string): string => key.slice(0, PREFIX_CHARS)

/** CRC32 (IEEE) of `body` in base62, most significant digit first. */
function checksum(body: string): string {
  let rest = crc32(body)
  let digits = ''
  for (let i = 0; i < CHECKSUM_CHARS; i += 1) {
    digits = BASE62.charAt(rest % 62) + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}
