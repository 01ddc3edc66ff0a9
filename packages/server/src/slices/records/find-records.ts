// Finds records by id, by name and by content, and lists pages of them.

import { setImmediate as yieldToRequests } from 'node:timers/promises'
import type { RecordKind } from '@custos/proof'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { Page } from '../../platform/page.ts'
import { type OpenRecord, openRecords } from './open-record.ts'
import {
  findLiveByContent,
  findRow,
  findRows,
  listIds,
  listIdsByName,
  type RecordRow,
} from './records.sql.ts'

/** The most records of one name that are read, newest first. */
export const NAMED_MAX = 50

export async function findRecord(
  kernel: Kernel,
  tenant_id: string,
  { kind, record_id }: { kind: RecordKind; record_id: string },
): Promise<OpenRecord | null> {
  const row = await kernel.db.read(tenant_id, (db) => findRow(db, kind, record_id))
  return openOne(kernel, tenant_id, row)
}

/** The HMAC that is stored in place of a content. */
export async function contentKey(
  kernel: Kernel,
  tenant_id: string,
  { kind, content }: { kind: RecordKind; content: string },
): Promise<string> {
  return (await kernel.keyring.tenant(tenant_id)).label(`${kind} content\n${content}`)
}

/** The HMAC that is stored in place of a name. */
export async function nameKey(
  kernel: Kernel,
  tenant_id: string,
  { kind, name }: { kind: RecordKind; name: string },
): Promise<string> {
  return (await kernel.keyring.tenant(tenant_id)).label(`${kind} name\n${name}`)
}

/** Finds the live record with this content. */
export async function findByContent(
  kernel: Kernel,
  tenant_id: string,
  { kind, content }: { kind: RecordKind; content: string },
): Promise<OpenRecord | null> {
  const key = await contentKey(kernel, tenant_id, { kind, content })
  const row = await kernel.db.read(tenant_id, (db) => findLiveByContent(db, kind, key))
  return openOne(kernel, tenant_id, row)
}

/** The newest issued and waiting records of the name, at most 50. */
export async function findByName(
  kernel: Kernel,
  tenant_id: string,
  { kind, name }: { kind: RecordKind; name: string },
): Promise<OpenRecord[]> {
  const name_key = await nameKey(kernel, tenant_id, { kind, name })
  const page = { name_key, limit: NAMED_MAX }
  const ids = await kernel.db.read(tenant_id, (db) => listIdsByName(db, kind, page))
  return openRecordsInBatches(kernel, tenant_id, { kind, ids }, (record) => record)
}

/** Lists a page of records in the form of `show`, newest first, and its end. */
export async function listRecords<T>(
  kernel: Kernel,
  tenant_id: string,
  { kind, page }: { kind: RecordKind; page: Pick<Page, 'limit' | 'offset' | 'after'> },
  show: (record: OpenRecord) => T,
): Promise<{ shown: T[]; end: Page['after'] }> {
  const rows = await kernel.db.read(tenant_id, (db) => listIds(db, kind, page))
  const ids = rows.map(({ record_id }) => record_id)
  const last = rows.at(-1)
  return {
    shown: await openRecordsInBatches(kernel, tenant_id, { kind, ids }, show),
    end: last ? { at: last.created_us, id: last.record_id } : null,
  }
}

const BATCH = 10

/**
 * Returns the result of `show` for each record, in the order of `ids`. Opens records in small
 * batches: only results stay in memory, and other requests run in between.
 * @param options `batch` is the number of records open at once
 */
export async function openRecordsInBatches<T>(
  kernel: Kernel,
  tenant_id: string,
  { kind, ids, batch = BATCH }: { kind: RecordKind; ids: readonly string[]; batch?: number },
  show: (record: OpenRecord) => T,
): Promise<T[]> {
  const shown: T[] = []
  for (let at = 0; at < ids.length; at += batch) {
    const some = ids.slice(at, at + batch)
    const rows = await kernel.db.read(tenant_id, (db) => findRows(db, kind, some))
    const byId = new Map(rows.map((row) => [row.record_id, row]))
    const ordered = some.flatMap((id) => byId.get(id) ?? [])
    for (const record of await openRecords(kernel, tenant_id, ordered)) shown.push(show(record))
    await yieldToRequests()
  }
  return shown
}

async function openOne(
  kernel: Kernel,
  tenant_id: string,
  row: RecordRow | undefined,
): Promise<OpenRecord | null> {
  if (!row) return null
  const [opened = null] = await openRecords(kernel, tenant_id, [row])
  return opened
}
