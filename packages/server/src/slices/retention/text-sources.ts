// Reasons of holds and bases of retention: how requests of data subjects reach them.

import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { REDACTED_SECRET } from '../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT, type TextSource, textSource } from '../../platform/kernel/text-source.ts'
import { findHoldById, type HoldRow, listAllHolds, updateRedactedHold } from '../memory/index.ts'
import {
  findRetention,
  listAllRetentions,
  type RetentionRow,
  updateRedactedBasis,
} from './retention.sql.ts'
import { openStoreNotes, storeColumn } from './store-notes.ts'

type HoldTexts = {
  readonly reason: string
  readonly matter: string | null
  readonly release_reason: string | null
}

const holdSource = textSource<HoldRow, HoldTexts>({
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

async function openHold(kernel: Kernel, db: TenantDb, row: HoldRow): Promise<HoldTexts | null> {
  const { hold_id, store_id, secret_no, sealed_release: sealed } = row
  const open = await openStoreNotes(kernel, db, store_id)
  const none: { reason: string | null } = { reason: null }
  const { reason, ...rest } = await open(['hold', hold_id], row, { ...none, matter: null })
  const released = await open(['release', hold_id], { secret_no, sealed }, none)
  return reason === null ? null : { reason, ...rest, release_reason: released.reason }
}

type RetentionTexts = { readonly basis: string }

const retentionSource = textSource<RetentionRow, RetentionTexts>({
  kind: 'retention',
  replaceable: true,
  list: (db, after, limit) => listAllRetentions(db, after?.store_id ?? '', limit),
  find: findRetention,
  idOf: ({ store_id }) => store_id,
  storeOf: ({ store_id }) => store_id,
  createdUs: ({ set_us }) => set_us,
  open: (kernel, tenant_id, rows) =>
    kernel.db.read(tenant_id, async (db) => {
      const opened: (RetentionTexts | null)[] = []
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
