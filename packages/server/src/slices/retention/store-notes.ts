// Callers' texts about a store (reasons, matters, bases). Each is sealed under a secret of its own
// and the store's secret: a redaction destroys the first, the deletion of the store the second.

import { hash, type KeyObject } from 'node:crypto'
import { Conflict } from '../../platform/concurrency.ts'
import type { Row } from '../../platform/db/schema/tables.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { recordSecrets } from '../../platform/kernel/record-secrets.ts'
import {
  jsonPayload,
  loadKeys,
  REDACTED_SECRET,
  sealedColumn,
} from '../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT, type TextSource, textSource } from '../../platform/kernel/text-source.ts'
import { Refusal } from '../../platform/refusal.ts'
import {
  findHoldById,
  findStore,
  listAllHolds,
  loadTargetHead,
  loadWriteTarget,
  settingsCache,
  updateRedactedHold,
} from '../memory/index.ts'
import { findRetention, listAllRetentions, updateRedactedBasis } from './retention.sql.ts'

/** The kind of text and, for holds, the id of the hold. */
type NoteId = readonly ['retention'] | readonly ['hold' | 'release', string]

/** A stored text, or nulls. If only `secret_no` is null, the store's secret alone seals it. */
interface SealedNote {
  readonly secret_no: number | null
  readonly sealed: Uint8Array | null
}

/** A store that a unit of work is about to add a note to. */
interface StoreTarget {
  readonly store_id: string
  readonly secret_no: number
  /** Checks the store inside the unit of work; creates `default` if it is missing. */
  enter(tx: Tx): Promise<void>
  /**
   * Seals a note; `null` for no note. @param before a note of the same row. Its secret is reused,
   * so that one redaction reaches every copy; a note of a redacted row is dropped
   */
  seal(id: NoteId, note: object | null, before?: SealedNote): Promise<SealedNote>
}

export const storeColumn = ([domain, ...ids]: NoteId) =>
  sealedColumn({
    domain,
    ids: (tenant_id, store_id: string) => [...ids, tenant_id, store_id],
    payload: jsonPayload<object>(),
  })

/** Refuses `store_not_found` and `store_deleting`. Throws a conflict `store`. */
export async function prepareStoreTarget(
  kernel: Kernel,
  tenant_id: string,
  store_id: string,
): Promise<StoreTarget> {
  const row = await kernel.db.read(tenant_id, (db) => findStore(db, store_id))
  if (row?.state === 'deleting') throw new Refusal('store_deleting')
  // The store was deleted after its settings were cached, in this process or another one.
  if (!row) settingsCache(kernel).forget(tenant_id, store_id)
  const target = await loadWriteTarget(kernel, tenant_id, store_id)
  const secret_no = row?.secret_no ?? target.fresh?.secret_no
  if (secret_no === undefined) throw new Conflict('store')
  return {
    store_id,
    secret_no,
    async enter(tx) {
      await loadTargetHead(kernel, tx, target)
      // The store was created again, so nobody could open what was sealed for the earlier one.
      if ((await findStore(tx, store_id))?.secret_no !== secret_no) throw new Conflict('store')
    },
    async seal(id, note, before) {
      const given = before?.secret_no ?? null
      // The other notes of a redacted hold name nobody, but this one would.
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

/** `store` and `note`: numbers of their secrets. Null: a secret is destroyed. */
async function findNoteKey(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  of: { store: number; note: number | null; id: NoteId; store_id: string },
): Promise<KeyObject | null> {
  const { store, note, id, store_id } = of
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

/** Row id, 16 bytes in hex: the hold's id, or the first half of SHA-256 of the store's id. */
const rowIdOf = (id: NoteId, store_id: string): string =>
  id[0] === 'retention' ? hash('sha256', store_id).slice(0, ID_CHARS) : id[1]

/** Opens notes of a store; returns `none` if there is no note or a secret is destroyed. */
export async function openStoreNotes(
  kernel: Pick<Kernel, 'keyring'>,
  db: TenantDb,
  store_id: string,
) {
  const { tenant_id } = db
  const row = await findStore(db, store_id)
  return async <T extends object>(
    id: NoteId,
    { secret_no, sealed }: SealedNote,
    none: T,
  ): Promise<T> => {
    if (!row || sealed === null) return none
    const of = { store: row.secret_no, note: secret_no, id, store_id }
    const key = await findNoteKey(kernel, tenant_id, of)
    return key ? { ...none, ...storeColumn(id).open(key, tenant_id, store_id, sealed) } : none
  }
}

type HoldTexts = {
  readonly reason: string
  readonly matter: string | null
  readonly release_reason: string | null
}

const holdSource = textSource<Row<'store_holds'>, HoldTexts>({
  kind: 'hold',
  list: (db, after, limit) => listAllHolds(db, after?.hold_id ?? '', limit),
  find: findHoldById,
  idOf: ({ hold_id }) => hold_id,
  storeOf: ({ store_id }) => store_id,
  createdUs: ({ placed_us }) => placed_us,
  open: (kernel, tenant_id, rows) =>
    kernel.db.read(tenant_id, async (db) => {
      const opened: (HoldTexts | null)[] = []
      for (const row of rows) opened.push(await openHold(kernel, db, row))
      return opened
    }),
  async redact({ keyring }, tenant_id, { row, content }) {
    const { hold_id, store_id } = row
    const seal = (id: 'hold' | 'release', payload: object) =>
      storeColumn([id, hold_id]).sealRedacted({ keyring }, tenant_id, store_id, payload)
    const reason = await seal('hold', { reason: REDACTED_TEXT, matter: null })
    if (content.release_reason === null) return [reason]
    return [reason, await seal('release', { reason: REDACTED_TEXT })]
  },
  update: (tx, { hold_id }, [sealed, sealed_release = null]) =>
    updateRedactedHold(tx, hold_id, { secret_no: REDACTED_SECRET, sealed, sealed_release }),
})

async function openHold(
  kernel: Kernel,
  db: TenantDb,
  row: Row<'store_holds'>,
): Promise<HoldTexts | null> {
  const { hold_id, store_id, secret_no, sealed_release: sealed } = row
  const open = await openStoreNotes(kernel, db, store_id)
  const none: { reason: string | null } = { reason: null }
  const { reason, ...rest } = await open(['hold', hold_id], row, { ...none, matter: null })
  const released = await open(['release', hold_id], { secret_no, sealed }, none)
  return reason === null ? null : { reason, ...rest, release_reason: released.reason }
}

const retentionSource = textSource<Row<'store_retention'>, { basis: string }>({
  kind: 'retention',
  replaceable: true,
  list: (db, after, limit) => listAllRetentions(db, after?.store_id ?? '', limit),
  find: findRetention,
  idOf: ({ store_id }) => store_id,
  storeOf: ({ store_id }) => store_id,
  createdUs: ({ set_us }) => set_us,
  open: (kernel, tenant_id, rows) =>
    kernel.db.read(tenant_id, async (db) => {
      const opened: ({ basis: string } | null)[] = []
      for (const row of rows) {
        const open = await openStoreNotes(kernel, db, row.store_id)
        const none: { basis: string | null } = { basis: null }
        const { basis } = await open(['retention'], row, none)
        opened.push(basis === null ? null : { basis })
      }
      return opened
    }),
  async redact({ keyring }, tenant_id, { row: { store_id } }) {
    const payload = { basis: REDACTED_TEXT }
    return [
      await storeColumn(['retention']).sealRedacted({ keyring }, tenant_id, store_id, payload),
    ]
  },
  update: (tx, { store_id }, [sealed]) =>
    updateRedactedBasis(tx, store_id, { secret_no: REDACTED_SECRET, sealed }),
})

export const retentionTextSources: readonly TextSource[] = [holdSource, retentionSource]
