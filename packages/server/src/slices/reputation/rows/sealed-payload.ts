// Seals and opens payloads of reputation, each row under a record secret of its own.

import type { JsonObject } from '@custos/proof'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { jsonPayload, newKey, sealedColumn } from '../../../platform/kernel/sealed-column.ts'

/** Which column of which row. */
interface Place {
  readonly column: 'decision' | 'name' | 'rotation' | 'attestation'
  /** The id of the row. */
  readonly id: string
}

export const reputationColumn = <T extends object>() =>
  sealedColumn({
    domain: 'cgr',
    ids: (tenant_id, { column, id }: Place) => [column, tenant_id, id],
    payload: jsonPayload<T>(),
  })

const anyColumn = reputationColumn()

/** All columns of one row under one new secret, in the order given. */
export async function sealPayload(
  kernel: Kernel,
  tenant_id: string,
  words: readonly { readonly place: Place; readonly content: object }[],
): Promise<{ secret_no: number; sealed: Buffer[] }> {
  const { secret_no, key } = await newKey(kernel, tenant_id)
  const sealed = words.map(({ place, content }) => anyColumn.seal(key, tenant_id, place, content))
  return { secret_no, sealed }
}

interface SealedPayload {
  readonly place: Place
  readonly secret_no: number
  readonly sealed: Uint8Array
}

/** In the order of `rows`; null where one cannot be opened. */
export const openPayload = <T extends JsonObject>(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  rows: readonly SealedPayload[],
): Promise<(T | null)[]> => {
  const sealed = rows.map(({ place, ...row }) => ({ ...place, ...row }))
  return reputationColumn<T>().openAll(kernel, tenant_id, sealed)
}
