// Which slot holds which day's key.

import type { KeyringDb } from './keyring-db.ts'

export interface DayKeyRow {
  readonly day: number
  readonly slot: number
}

export function findDayKey(db: KeyringDb, day: number): DayKeyRow | undefined {
  return db.get<DayKeyRow>('SELECT day, slot FROM day_keys WHERE day = ?', day)
}

export function insertDayKey(db: KeyringDb, row: DayKeyRow): void {
  db.run('INSERT INTO day_keys VALUES (?, ?)', row.day, row.slot)
}

export function listDayKeysBefore(db: KeyringDb, day: number): DayKeyRow[] {
  return db.all<DayKeyRow>('SELECT day, slot FROM day_keys WHERE day < ? ORDER BY day', day)
}

export function deleteDayKeysBefore(db: KeyringDb, day: number): void {
  db.run('DELETE FROM day_keys WHERE day < ?', day)
}
