// MACs of request bodies under a key per day: once it is destroyed they say nothing of a body.

import { type KeyObject, randomFillSync } from 'node:crypto'
import { deleteDayKeysBefore, findDayKey, insertDayKey, listDayKeysBefore } from './day-keys.sql.ts'
import { bodyMacOf, dayKeyOf, isBodyMac } from './day-mac.ts'
import { loadInstance, takeSlots, updateDayFloor } from './instance.sql.ts'
import type { BodyMac } from './keyring.ts'
import type { KeyringDb } from './keyring-db.ts'
import { KeyringError, requireInteger } from './keyring-error.ts'
import { isErased, SLOT_BYTES, type SlotFile, slotRuns } from './slot-file.ts'
import { type MasterHolder, unwrap } from './wrap.ts'

const RUN_SLOTS_MAX = 1024

export class DayKeys {
  readonly #db: KeyringDb
  readonly #slots: SlotFile
  readonly #master: MasterHolder
  readonly #keys = new Map<number, KeyObject>()

  constructor(db: KeyringDb, slots: SlotFile, master: MasterHolder) {
    this.#db = db
    this.#slots = slots
    this.#master = master
  }

  mac(body: Uint8Array, day: number): BodyMac {
    requireInteger('day', day, 0)
    const key = this.#find(day) ?? this.#create(day)
    return bodyMacOf(key, body, day)
  }

  verify(body: Uint8Array, day: number, mac: string): boolean {
    const key = this.#find(day)
    return key !== undefined && isBodyMac(key, body, mac)
  }

  // Slots first: a crash before the rows go leaves rows of destroyed keys, which read as gone.
  drop(before_day: number): number {
    requireInteger('before_day', before_day, 0)
    const rows = listDayKeysBefore(this.#db, before_day)
    const slots = rows.map((row) => row.slot)
    this.#slots.erase(slotRuns(slots, 0, RUN_SLOTS_MAX))
    for (const { day } of rows) this.#keys.delete(day)
    this.#db.transact(() => {
      deleteDayKeysBefore(this.#db, before_day)
      updateDayFloor(this.#db, before_day)
    })
    return rows.length
  }

  #find(day: number): KeyObject | undefined {
    const known = this.#keys.get(day)
    if (known) return known
    const row = Number.isSafeInteger(day) ? findDayKey(this.#db, day) : undefined
    if (!row) return undefined
    const secret = this.#slots.read({ start: row.slot, end: row.slot + 1 })
    return isErased(secret) ? undefined : this.#keep(day, secret)
  }

  // A dropped day never gets a new key: its old MACs would look like other bodies' instead of
  // like expired ones.
  #create(day: number): KeyObject {
    if (day < loadInstance(this.#db).day_floor || findDayKey(this.#db, day))
      throw new KeyringError('day_key_dropped', `the key of day ${day} was destroyed`)
    const secret = randomFillSync(Buffer.alloc(SLOT_BYTES))
    this.#db.transact(() => {
      const slot = takeSlots(this.#db, 1)
      this.#slots.write(slot, secret)
      insertDayKey(this.#db, { day, slot })
    })
    return this.#keep(day, secret)
  }

  #keep(day: number, secret: Buffer): KeyObject {
    const { instance_id, mac_root } = loadInstance(this.#db)
    const root = unwrap(this.#master.key, { kind: 'mac-root', owner: instance_id }, mac_root)
    const key = dayKeyOf(root, secret)
    this.#keys.set(day, key)
    return key
  }
}
