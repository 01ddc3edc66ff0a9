// Looking records up: by id, by what they are called, by what they are; and pages of them.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JsonObject, RecordKind } from '@custos/proof'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
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

/** How many records of one name are looked at, newest first. */
const NAMED_MAX = 50

export async function findRecord(
  kernel: Kernel,
  tenant_id: string,
  { kind, record_id }: { kind: RecordKind; record_id: string },
): Promise<OpenRecord | null> {
  const row = await kernel.db.read(tenant_id, (db) => findRow(db, kind, record_id))
  return openOne(kernel, tenant_id, row)
}

/** The HMAC that is kept in place of a content or a name. */
export async function contentKey(
  kernel: Kernel,
  tenant_id: string,
  { kind, content }: { kind: RecordKind; content: string },
): Promise<string> {
  return (await kernel.keyring.tenant(tenant_id)).label(`${kind} content\n${content}`)
}

export async function nameKey(
  kernel: Kernel,
  tenant_id: string,
  { kind, name }: { kind: RecordKind; name: string },
): Promise<string> {
  return (await kernel.keyring.tenant(tenant_id)).label(`${kind} name\n${name}`)
}

/** The live record of this content. */
export async function findByContent(
  kernel: Kernel,
  tenant_id: string,
  wanted: { kind: RecordKind; content: string },
): Promise<OpenRecord | null> {
  const key = await contentKey(kernel, tenant_id, wanted)
  const row = await kernel.db.read(tenant_id, (db) => findLiveByContent(db, wanted.kind, key))
  return openOne(kernel, tenant_id, row)
}

/** Newest first: those that stand or wait. */
export async function findByName(
  kernel: Kernel,
  tenant_id: string,
  wanted: { kind: RecordKind; name: string },
): Promise<OpenRecord[]> {
  const key = await nameKey(kernel, tenant_id, wanted)
  const look = (db: TenantDb) => listIdsByName(db, wanted.kind, { name_key: key, limit: NAMED_MAX })
  const ids = await kernel.db.read(tenant_id, look)
  return openInBatches(kernel, tenant_id, { kind: wanted.kind, ids }, (record) => record)
}

/** How many are open at once. */
const BATCH = 10

/**
 * What `show` makes of each, newest first. They are opened in small turns: only what is shown stays
 * in memory, and other requests run in between.
 */
export async function listRecords<T>(
  kernel: Kernel,
  tenant_id: string,
  { kind, page, live_only = false }: { kind: RecordKind; page: PageBounds; live_only?: boolean },
  show: (record: OpenRecord) => T,
): Promise<T[]> {
  const { limit, offset } = page
  const look = (db: TenantDb) => listIds(db, kind, { limit, offset, live_only })
  const ids = await kernel.db.read(tenant_id, look)
  return openInBatches(kernel, tenant_id, { kind, ids }, show)
}

type PageBounds = Pick<Page, 'limit' | 'offset'>

async function openInBatches<T>(
  kernel: Kernel,
  tenant_id: string,
  { kind, ids }: { kind: RecordKind; ids: readonly string[] },
  show: (record: OpenRecord) => T,
): Promise<T[]> {
  const shown: T[] = []
  for (let at = 0; at < ids.length; at += BATCH) {
    const some = ids.slice(at, at + BATCH)
    const rows = await kernel.db.read(tenant_id, (db) => findRows(db, kind, some))
    const byId = new Map(rows.map((row) => [row.record_id, row]))
    const ordered = some.flatMap((id) => byId.get(id) ?? [])
    for (const record of await openRecords(kernel, tenant_id, ordered)) shown.push(show(record))
    await nextTurn()
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

/** A text member, for what was written by the same slice. */
export const textOf = (object: JsonObject, member: string): string => String(object[member] ?? '')
