// MACs of request bodies under a key per day. Once that key is destroyed, they reveal nothing.

import {
  createHmac,
  createSecretKey,
  hash,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import type { BodyMac } from '../keyring.ts'
import { KeyringError, requireInteger } from '../keyring-error.ts'
import { KEY_BYTES, type MasterHolder, unwrap } from '../wrap.ts'
import type { KeyringDb } from './database.ts'
import { lockInstance, requireInstance, shareInstance, updateDayFloor } from './instance.sql.ts'
import type { SecretOwner, SecretStore } from './secret-store.ts'

const DOMAIN = Buffer.from('custos/body-mac/v1\n')
const MAC = /^[0-9a-f]{64}$/

/** The owner of the day secrets, which belong to no tenant. */
export const DAYS: SecretOwner = { tenant_id: '', kind: 'day' }

export class DayKeys {
  readonly #db: KeyringDb
  readonly #secrets: SecretStore
  readonly #master: MasterHolder
  readonly #keys = new Map<number, KeyObject>()

  constructor({
    db,
    secrets,
    master,
  }: { readonly db: KeyringDb; readonly secrets: SecretStore; readonly master: MasterHolder }) {
    this.#db = db
    this.#secrets = secrets
    this.#master = master
  }

  async mac(body: Uint8Array, day: number): Promise<BodyMac> {
    requireInteger('day', day, 0)
    const key = (await this.#find(day)) ?? (await this.#create(day))
    return { day, mac: macOf(key, body).toString('hex') }
  }

  async verify(body: Uint8Array, day: number, mac: string): Promise<boolean> {
    const key = await this.#find(day)
    if (!key || !MAC.test(mac)) return false
    return timingSafeEqual(macOf(key, body), Buffer.from(mac, 'hex'))
  }

  /** Destroys the keys of days before `before_day`; returns how many. */
  async drop(before_day: number): Promise<number> {
    requireInteger('before_day', before_day, 0)
    const days = await this.#secrets.transact(async (tx, secrets) => {
      await lockInstance(tx, this.#master)
      await updateDayFloor(tx, before_day)
      const numbers = await secrets.listDaysBefore(before_day)
      await secrets.destroy(DAYS, numbers)
      return numbers
    })
    this.forget(before_day)
    return days.length
  }

  /** Removes keys of days before `floor` from memory: any process may have destroyed them. */
  forget(floor: number): void {
    for (const day of this.#keys.keys()) if (day < floor) this.#keys.delete(day)
  }

  async #find(day: number): Promise<KeyObject | undefined> {
    const known = this.#keys.get(day)
    if (known) return known
    if (!Number.isSafeInteger(day)) return undefined
    const [stored] = await this.#secrets.load(DAYS, [day])
    return stored && this.#keep(day, stored.secret)
  }

  // A destroyed day never gets a new key: under it, old MACs would look like those of other bodies
  // instead of expired ones.
  async #create(day: number): Promise<KeyObject> {
    const secret = await this.#secrets.transact(async (tx, secrets) => {
      const { day_floor } = await shareInstance(tx, this.#master)
      if (day >= day_floor) {
        await secrets.insert(DAYS, { number: day, secret: randomBytes(KEY_BYTES) })
        const [stored] = await secrets.load(DAYS, [day])
        if (stored) return stored.secret
      }
      throw new KeyringError('day_key_dropped', `the key of day ${day} was destroyed`)
    })
    return this.#keep(day, secret)
  }

  async #keep(day: number, secret: Buffer): Promise<KeyObject> {
    const { instance_id, mac_root, day_floor } = await requireInstance(this.#db, this.#master)
    const root = unwrap(this.#master, { kind: 'mac-root', owner: instance_id }, mac_root)
    const key = dayKeyOf(root, secret)
    if (day >= day_floor) this.#keys.set(day, key)
    return key
  }
}

/**
 * Mixes the day's secret with a root that only the master key opens, so that nobody can test a body
 * with the secret alone. Both are 32 bytes and are wiped.
 */
function dayKeyOf(root: Buffer, secret: Buffer): KeyObject {
  const material = Buffer.concat([DOMAIN, root, secret])
  const digest = hash('sha256', material, 'buffer')
  const key = createSecretKey(digest)
  for (const bytes of [root, secret, material, digest]) bytes.fill(0)
  return key
}

function macOf(key: KeyObject, body: Uint8Array): Buffer {
  return createHmac('sha256', key).update(body).digest()
}
