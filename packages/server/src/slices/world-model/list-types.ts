// Types by kind and name: those are sealed with all else, so they are remembered once opened.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { type WorldTypeKind, worldModelLimits } from '@custos/contract'
import { type Kernel, perKernel } from '../../platform/kernel.ts'
import { openRecords } from '../records/index.ts'
import { type OpenType, openType } from './find-types.ts'
import { Remembered } from './remembered.ts'
import { kindOf } from './type-registry.ts'
import { findTypeRows, listNewestIds } from './world-types.sql.ts'

/** What a type is called. */
export interface TypeTitle {
  readonly record_id: string
  readonly kind: WorldTypeKind
  readonly name: string
}

const TITLES_MAX = 20_000
const titles = perKernel(() => new Remembered<TypeTitle>(TITLES_MAX))

/** The newest version of every type, by kind and name. */
export async function listTitles(kernel: Kernel, tenant_id: string): Promise<TypeTitle[]> {
  // The limit may be passed by what is registered at the same time.
  const limit = 2 * worldModelLimits.types_per_tenant
  const ids = await kernel.db.read(tenant_id, (db) => listNewestIds(db, limit))
  const known = titles(kernel)
  const found = ids.map((id) => known.find(id) ?? id)
  const unknown = found.filter((one) => typeof one === 'string')
  const opened = await openInTurns(kernel, tenant_id, unknown, ({ record, request }) => {
    const { record_id } = record.row
    const title = { record_id, kind: kindOf(request), name: request.name }
    return known.keep(record_id, title)
  })
  const all = [...found.filter((one) => typeof one !== 'string'), ...opened]
  const orderOf = ({ kind, name }: TypeTitle): string => `${kind} ${name}`
  return all.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
}

/** How many are open at once. */
const TURN = 4

/**
 * What `show` makes of each, in the order of the ids. They are opened in small turns: only what is
 * shown stays in memory, and other requests run in between.
 */
export async function openInTurns<T>(
  kernel: Kernel,
  tenant_id: string,
  record_ids: readonly string[],
  show: (type: OpenType) => T,
): Promise<T[]> {
  const shown: T[] = []
  for (let at = 0; at < record_ids.length; at += TURN) {
    const some = record_ids.slice(at, at + TURN)
    const rows = await kernel.db.read(tenant_id, (db) => findTypeRows(db, some))
    const byId = new Map(rows.map((row) => [row.record_id, row]))
    const ordered = some.flatMap((id) => byId.get(id) ?? [])
    for (const record of await openRecords(kernel, tenant_id, ordered))
      shown.push(show(openType(record)))
    await nextTurn()
  }
  return shown
}
