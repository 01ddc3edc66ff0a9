// What a record and a request for an approval hold in words, sealed under a secret of their own.

import type { JsonObject, RecordKind } from '@custos/proof'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { jsonPayload, sealedColumn } from '../../platform/kernel/sealed-column.ts'
import { Refusal } from '../../platform/refusal.ts'

interface RowOwner {
  readonly tenant_id: string
  readonly table: 'record' | 'approval' | 'approver'
  readonly kind: RecordKind | ''
  readonly id: string
}

export const sealedColumnOf = <T extends JsonObject>(table: RowOwner['table']) =>
  sealedColumn({
    domain: table,
    ids: (tenant_id, { kind, id }: Pick<RowOwner, 'kind' | 'id'>) => [tenant_id, kind, id],
    payload: jsonPayload<T>(),
  })

export interface Sealed {
  readonly secret_no: number
  readonly sealed: Buffer
}

/** Under a new secret. */
export const sealNew = (kernel: Kernel, owner: RowOwner, content: JsonObject): Promise<Sealed> =>
  sealedColumnOf(owner.table).sealNew(kernel, owner.tenant_id, owner, content)

/** Under the secret it has: a later state of the same record. */
export async function sealAgain(
  kernel: Kernel,
  owner: RowOwner,
  secret_no: number,
  content: JsonObject,
): Promise<Buffer> {
  const row = { ...owner, secret_no }
  const sealed = await sealedColumnOf(owner.table).sealAgain(kernel, owner.tenant_id, row, content)
  if (!sealed) throw new Refusal('unavailable')
  return sealed
}

export interface SealedRow {
  readonly owner: RowOwner
  readonly secret_no: number
  readonly sealed: Uint8Array
}

/** Rows of one table, opened in their order; null where one cannot be opened. */
export async function openSealed<T extends JsonObject>(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  rows: readonly SealedRow[],
): Promise<(T | null)[]> {
  const [first] = rows
  if (!first) return []
  const sealed = rows.map(({ owner, ...row }) => ({ ...row, kind: owner.kind, id: owner.id }))
  return sealedColumnOf<T>(first.owner.table).openAll(kernel, tenant_id, sealed)
}
