// Callers' texts about a store (reasons, matters, bases). Each is sealed under a secret of its own
// and that of the store: a redaction destroys the first, the deletion of the store the second.

import { hash, type KeyObject } from 'node:crypto'
import { Conflict } from '../../platform/concurrency.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { recordSecrets } from '../../platform/kernel/record-secrets.ts'
import {
  jsonPayload,
  loadKeys,
  REDACTED_SECRET,
  sealedColumn,
} from '../../platform/kernel/sealed-column.ts'
import { Refusal } from '../../platform/refusal.ts'
import { findStore, loadTargetHead, loadWriteTarget, settingsCache } from '../memory/index.ts'

/** Which text it is, and of which hold. */
type NoteId = readonly ['retention'] | readonly ['hold' | 'release', string]

/** A text as it is stored; both null: there is none. `secret_no` null: the store's secret only. */
interface SealedNote {
  readonly secret_no: number | null
  readonly sealed: Uint8Array | null
}

/** A store that a unit of work is about to add a note to. */
interface StoreTarget {
  readonly store_id: string
  readonly secret_no: number
  /** Inside the unit of work; makes `default` where it is missing. */
  enter(tx: Tx): Promise<void>
  /**
   * Null for no note.
   * @param before a note of the same row: its secret is used again, so that one redaction reaches
   * every copy; a note of a redacted row is dropped
   */
  seal(id: NoteId, note: object | null, before?: SealedNote): Promise<SealedNote>
}

export const storeColumn = ([domain, ...ids]: NoteId) =>
  sealedColumn({
    domain,
    ids: (tenant_id, store_id: string) => [...ids, tenant_id, store_id],
    payload: jsonPayload<object>(),
  })

/** Refuses `store_not_found` and `store_deleting`. Throws a conflict of the store. */
export async function prepareStoreTarget(
  kernel: Kernel,
  tenant_id: string,
  store_id: string,
): Promise<StoreTarget> {
  const row = await kernel.db.read(tenant_id, (db) => findStore(db, store_id))
  if (row?.state === 'deleting') throw new Refusal('store_deleting')
  // Deleted since its settings were cached, in this process or in another one.
  if (!row) settingsCache(kernel).forget(tenant_id, store_id)
  const target = await loadWriteTarget(kernel, tenant_id, store_id)
  const secret_no = row?.secret_no ?? target.fresh?.secret_no
  if (secret_no === undefined) throw new Conflict('store')
  return {
    store_id,
    secret_no,
    async enter(tx) {
      await loadTargetHead(kernel, tx, target)
      // Created again since: nobody could open what was sealed for the earlier store.
      if ((await findStore(tx, store_id))?.secret_no !== secret_no) throw new Conflict('store')
    },
    async seal(id, note, before) {
      const given = before?.secret_no ?? null
      // The other notes of a redacted hold name nobody; this one would.
      const dropped = given === REDACTED_SECRET && id[0] === 'release'
      if (note === null || dropped) return { secret_no: given, sealed: null }
      // A release is sealed like the reason of its hold.
      const own = given === REDACTED_SECRET ? null : given
      const of = id[0] === 'release' ? own : (own ?? (await newNumber(kernel, tenant_id)))
      const key = await findNoteKey(kernel, tenant_id, { store: secret_no, note: of, id, store_id })
      if (!key) throw new Conflict('store')
      return { secret_no: of, sealed: storeColumn(id).seal(key, tenant_id, store_id, note) }
    },
  }
}

async function newNumber(kernel: Kernel, tenant_id: string): Promise<number> {
  const { secret_no, secret } = await recordSecrets(kernel).take(tenant_id)
  secret.fill(0)
  return secret_no
}

interface NoteKey {
  /** Numbers of the secrets of the store and of the note. */
  readonly store: number
  readonly note: number | null
  readonly id: NoteId
  readonly store_id: string
}

/** Null: a secret is destroyed. */
async function findNoteKey(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  { store, note, id, store_id }: NoteKey,
): Promise<KeyObject | null> {
  if (note === null || note === REDACTED_SECRET) {
    const number = note ?? store
    return (await loadKeys(kernel, tenant_id, [number])).get(number) ?? null
  }
  const secrets = await kernel.keyring.secrets(tenant_id, 'decision', [store, note])
  const [ofStore, ofNote] = [secrets.get(store), secrets.get(note)]
  if (!ofStore || !ofNote) return null
  const keys = await kernel.keyring.tenant(tenant_id)
  const key = keys.decisionKey(rowIdOf(id, store_id), [ofStore, ofNote])
  ofStore.fill(0)
  ofNote.fill(0)
  return key
}

const ID_CHARS = 32

/** 16 bytes in hex: the id of the hold, or the first half of SHA-256 of the store's id. */
const rowIdOf = (id: NoteId, store_id: string): string =>
  id[0] === 'retention' ? hash('sha256', store_id).slice(0, ID_CHARS) : id[1]

type OpenNote = <T extends object>(id: NoteId, note: SealedNote, none: T) => Promise<T>

/** Opens notes of a store; `none` where there is no note, or when a secret is destroyed. */
export async function openStoreNotes(
  kernel: Pick<Kernel, 'keyring'>,
  db: TenantDb,
  store_id: string,
): Promise<OpenNote> {
  const { tenant_id } = db
  const row = await findStore(db, store_id)
  return async (id, { secret_no, sealed }, none) => {
    if (!row || sealed === null) return none
    const of = { store: row.secret_no, note: secret_no, id, store_id }
    const key = await findNoteKey(kernel, tenant_id, of)
    return key ? { ...none, ...storeColumn(id).open(key, tenant_id, store_id, sealed) } : none
  }
}
