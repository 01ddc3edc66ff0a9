// Sealed names of keys, and namespaces of keys and tokens: how subject requests reach them.

import type { CredentialInfo } from '../../platform/db/control.sql.ts'
import {
  findLimited,
  findNamed,
  listLimitedAfter,
  listNamedAfter,
  updateRedactedLimit,
  updateRedactedName,
} from '../../platform/db/credential-limits.sql.ts'
import type { Call } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { jsonPayload, REDACTED_SECRET, sealedColumn } from '../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT, type TextSource, textSource } from '../../platform/kernel/text-source.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import {
  forgetLimit,
  KEY_ID_BYTES,
  limitColumn,
  type SealedLimit,
  sealLimit,
} from './credential-limit.ts'
import { revokeKey, type SealedName } from './credentials.ts'

export const nameColumn = sealedColumn({
  domain: 'credential_name',
  ids: (tenant_id, { key_id }: Pick<SealedName, 'key_id'>) => [tenant_id, key_id],
  payload: jsonPayload<{ readonly name: string }>(),
})

/** Seals the name of a credential to be issued with this id; undefined if it has no name. */
export async function sealName(
  kernel: Kernel,
  tenant_id: string,
  { key_id, name }: Pick<CredentialInfo, 'key_id' | 'name'>,
): Promise<SealedName | undefined> {
  if (name === '') return undefined
  const { secret_no, sealed } = await nameColumn.sealNew(kernel, tenant_id, { key_id }, { name })
  return { key_id, name_secret_no: secret_no, sealed_name: sealed }
}

/**
 * Issues a credential with sealed name and namespace; an undefined namespace means no limit. If the
 * request is refused or repeated, no credential is issued, and the secrets made for it are
 * destroyed.
 */
export async function issueSealed<T extends Pick<SealedName, 'key_id'>>(
  { kernel, tenant_id }: Pick<Call, 'kernel' | 'tenant_id'>,
  { namespace, name = '' }: { namespace: string | null | undefined; name?: string | undefined },
  issue: (sealed: {
    limit: SealedLimit | undefined
    sealed_name: SealedName | undefined
  }) => Promise<T>,
): Promise<T> {
  const key_id = kernel.ids.hex(KEY_ID_BYTES)
  const limit = await sealLimit(kernel, tenant_id, { key_id, namespace })
  const sealed_name = await sealName(kernel, tenant_id, { key_id, name })
  const secrets = [limit?.secret_no, sealed_name?.name_secret_no ?? undefined]
  let issued: T | undefined
  try {
    issued = await issue({ limit, sealed_name })
    return issued
  } finally {
    const made = secrets.filter((number) => number !== undefined)
    if (made.length > 0 && issued?.key_id !== key_id)
      await kernel.keyring.destroySecrets(tenant_id, 'decision', made)
  }
}

/** Opens names in the order of `rows`; an empty text if there is none. */
export async function openNames(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  rows: readonly (SealedName & Pick<CredentialInfo, 'name'>)[],
): Promise<string[]> {
  const sealed = rows.map(({ key_id, name_secret_no, sealed_name }) => {
    return { key_id, secret_no: name_secret_no ?? REDACTED_SECRET, sealed: sealed_name }
  })
  const opened = await nameColumn.openAll(kernel, tenant_id, sealed)
  return rows.map(({ name }, i) => opened[i]?.name ?? name)
}

/** The store that a credential concerns, which is the one it is limited to; else `null`. */
function storeOf({ allowed_stores }: Pick<CredentialInfo, 'allowed_stores'>): string | null {
  // This service wrote the column as a list of ids.
  const stores: readonly string[] = JSON.parse(allowed_stores)
  return stores.length === 1 ? (stores[0] ?? null) : null
}

const keySource = textSource<
  NonNullable<Awaited<ReturnType<typeof findNamed>>>,
  { readonly name: string }
>({
  kind: 'key',
  list: (db, after, limit) => listNamedAfter(db, after?.key_id ?? '', limit),
  find: findNamed,
  idOf: ({ key_id }) => key_id,
  storeOf,
  createdUs: ({ created_us }) => created_us,
  open: async (kernel, tenant_id, rows) =>
    (await openNames(kernel, tenant_id, rows)).map((name) => (name === '' ? null : { name })),
  async redact(kernel, tenant_id, { row }) {
    return [await nameColumn.sealRedacted(kernel, tenant_id, row, { name: REDACTED_TEXT })]
  },
  update: (tx, { key_id }, [sealed_name]) =>
    updateRedactedName(tx, key_id, { name_secret_no: REDACTED_SECRET, sealed_name }),
})

/** A credential without its namespace may do nothing, so a redaction revokes it. */
const namespaceSource = textSource<
  NonNullable<Awaited<ReturnType<typeof findLimited>>>,
  { readonly namespace: string | null }
>({
  kind: 'key_namespace',
  list: (db, after, limit) => listLimitedAfter(db, after?.key_id ?? '', limit),
  find: findLimited,
  idOf: ({ key_id }) => key_id,
  storeOf,
  createdUs: ({ created_us }) => created_us,
  namespaceOf: ({ namespace }) => namespace,
  open: (kernel, tenant_id, rows) => limitColumn.openAll(kernel, tenant_id, rows),
  async redact(kernel, tenant_id, { row }) {
    return [await limitColumn.sealRedacted(kernel, tenant_id, row, { namespace: REDACTED_TEXT })]
  },
  async update(tx, { key_id }, [sealed], kernel) {
    await updateRedactedLimit(tx, key_id, { secret_no: REDACTED_SECRET, sealed })
    tx.afterCommit(() => forgetLimit(kernel, key_id))
    const { tenant_id } = tx
    if (!(await revokeKey(kernel, tx, { owner: tenant_id, key_id }))) return
    await appendCrumb(tx, {
      event_type: 'tenant.key_revoked',
      subject: key_id,
      payload: { key_id },
    })
  },
})

export const keyTextSources: readonly TextSource[] = [keySource, namespaceSource]
