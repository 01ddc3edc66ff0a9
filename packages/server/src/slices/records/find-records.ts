// Looking records up: by id, by what they are called, by what they are; and pages of them.

import type { JsonObject, RecordKind } from '@custos/proof'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import type { Page } from '../../platform/page.ts'
import { type OpenRecord, openRecords } from './open-record.ts'
import { findLiveRow, findRow, listNamed, listRows, type RecordRow } from './records.sql.ts'

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
  const row = await kernel.db.read(tenant_id, (db) => findLiveRow(db, wanted.kind, key))
  return openOne(kernel, tenant_id, row)
}

/** Newest first, in whatever state. */
export async function findByName(
  kernel: Kernel,
  tenant_id: string,
  wanted: { kind: RecordKind; name: string },
): Promise<OpenRecord[]> {
  const key = await nameKey(kernel, tenant_id, wanted)
  const look = (db: TenantDb) => listNamed(db, wanted.kind, key, NAMED_MAX)
  return openRecords(kernel, tenant_id, await kernel.db.read(tenant_id, look))
}

/** Newest first. */
export async function listRecords(
  kernel: Kernel,
  tenant_id: string,
  { kind, page, live_only = false }: { kind: RecordKind; page: Page; live_only?: boolean },
): Promise<OpenRecord[]> {
  const { limit, offset } = page
  const look = (db: TenantDb) => listRows(db, kind, { limit, offset, live_only })
  return openRecords(kernel, tenant_id, await kernel.db.read(tenant_id, look))
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
