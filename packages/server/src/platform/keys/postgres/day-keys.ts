// MACs of request bodies under a key per day, the same day's key in every process.

import { type KeyObject, randomBytes } from 'node:crypto'
import { bodyMacOf, dayKeyOf, isBodyMac } from '../day-mac.ts'
import type { BodyMac } from '../keyring.ts'
import { KeyringError, requireInteger } from '../keyring-error.ts'
import { KEY_BYTES, type MasterHolder, unwrap } from '../wrap.ts'
import { lockInstance, requireInstance, shareInstance, updateDayFloor } from './instance.sql.ts'
import type { KeyringPg } from './keyring-pg.ts'
import type { SecretStore } from './secret-store.ts'
import { listNumbersBefore, type Owner } from './secrets.sql.ts'
import { OWN } from './wrap-keys.sql.ts'

const DAYS: Owner = { tenant_id: OWN, kind: 'day' }

export class DayKeys {
  readonly #db: KeyringPg
  readonly #secrets: SecretStore
  readonly #master: MasterHolder
  readonly #keys = new Map<number, KeyObject>()

  constructor(db: KeyringPg, secrets: SecretStore, master: MasterHolder) {
    this.#db = db
    this.#secrets = secrets
    this.#master = master
  }

  async mac(body: Uint8Array, day: number): Promise<BodyMac> {
    requireInteger('day', day, 0)
    return bodyMacOf((await this.#find(day)) ?? (await this.#create(day)), body, day)
  }

  async verify(body: Uint8Array, day: number, mac: string): Promise<boolean> {
    const key = await this.#find(day)
    return key !== undefined && isBodyMac(key, body, mac)
  }

  async drop(before_day: number): Promise<number> {
    requireInteger('before_day', before_day, 0)
    const days = await this.#secrets.destroying(async (tx, destroy) => {
      await lockInstance(tx, this.#master)
      await updateDayFloor(tx, before_day)
      const numbers = await listNumbersBefore(tx, DAYS, before_day)
      await destroy(DAYS, numbers)
      return numbers
    })
    this.forget(before_day)
    return days.length
  }

  /** Days before the floor, dropped by any process. */
  forget(floor: number): void {
    for (const day of this.#keys.keys()) if (day < floor) this.#keys.delete(day)
  }

  async #find(day: number): Promise<KeyObject | undefined> {
    const known = this.#keys.get(day)
    if (known) return known
    const [found] = Number.isSafeInteger(day)
      ? await this.#secrets.readIn(this.#db, DAYS, [day])
      : []
    return found && this.#keep(day, found.secret)
  }

  // A dropped day never gets a new key: its old MACs would look like other bodies' instead of
  // like expired ones.
  async #create(day: number): Promise<KeyObject> {
    const secret = await this.#db.transact(async (tx) => {
      const { day_floor } = await shareInstance(tx, this.#master)
      if (day < day_floor)
        throw new KeyringError('day_key_dropped', `the key of day ${day} was destroyed`)
      await this.#secrets.insertOnce(tx, DAYS, { number: day, secret: randomBytes(KEY_BYTES) })
      const [stored] = await this.#secrets.readIn(tx, DAYS, [day])
      if (!stored) throw new KeyringError('keyring_damaged', `the key of day ${day} is not there`)
      return stored.secret
    })
    return this.#keep(day, secret)
  }

  async #keep(day: number, secret: Buffer): Promise<KeyObject> {
    const { instance_id, mac_root, day_floor } = await requireInstance(this.#db, this.#master)
    const root = unwrap(this.#master.key, { kind: 'mac-root', owner: instance_id }, mac_root)
    const key = dayKeyOf(root, secret)
    if (day >= day_floor) this.#keys.set(day, key)
    return key
  }
}
