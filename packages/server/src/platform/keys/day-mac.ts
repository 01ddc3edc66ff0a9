// The key of a day, and MACs of request bodies under it, whatever engine keeps the day's secret.

import { createHmac, createSecretKey, hash, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { BodyMac } from './keyring.ts'

const DOMAIN = Buffer.from('custos/body-mac/v1\n')
const MAC = /^[0-9a-f]{64}$/

/**
 * Mixed with a root that only the master key opens: the day's secret alone lets nobody test a
 * body. Both are 32 bytes and wiped.
 */
export function dayKeyOf(root: Buffer, secret: Buffer): KeyObject {
  const material = Buffer.concat([DOMAIN, root, secret])
  const digest = hash('sha256', material, 'buffer')
  const key = createSecretKey(digest)
  for (const bytes of [root, secret, material, digest]) bytes.fill(0)
  return key
}

export function bodyMacOf(key: KeyObject, body: Uint8Array, day: number): BodyMac {
  return { day, mac: macOf(key, body).toString('hex') }
}

export function isBodyMac(key: KeyObject, body: Uint8Array, mac: string): boolean {
  return MAC.test(mac) && timingSafeEqual(macOf(key, body), Buffer.from(mac, 'hex'))
}

function macOf(key: KeyObject, body: Uint8Array): Buffer {
  return createHmac('sha256', key).update(body).digest()
}
