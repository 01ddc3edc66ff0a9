// Providers of models: configured, listed and deleted. Model, address and key are sealed.

import { type llm as contract, llmLimits, type ModelProvider } from '@custos/contract'
import { canonicalize } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler, Principal } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { jsonPayload, REDACTED_SECRET, sealedColumn } from '../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT, textSource } from '../../platform/kernel/text-source.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import {
  countProviders,
  deleteProviderRow,
  findProvider,
  findProviderOf,
  insertProvider,
  listProviders,
  listProvidersAfter,
  type ProviderRow,
  updateProvider,
} from './llm.sql.ts'

const ID_BYTES = 16
const BASE_URLS = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
} as const

interface ProviderWords {
  readonly model_id: string
  readonly base_url: string
  readonly api_key: string | null
  /** Whether the provider is asked for a streamed answer. Absent means no. */
  readonly streams?: boolean
}

export interface OpenProvider {
  readonly row: ProviderRow
  readonly words: ProviderWords
}

const providerColumn = sealedColumn({
  domain: 'llm_provider',
  ids: (tenant_id, { provider_id }: Pick<ProviderRow, 'provider_id'>) => [tenant_id, provider_id],
  payload: jsonPayload<ProviderWords>(),
})

const labelOf = async ({ keyring }: Kernel, tenant_id: string, model_id: string): Promise<string> =>
  (await keyring.tenant(tenant_id)).label(`llm model\n${model_id}`)

/** Refuses a key limited to some stores, because an answer may quote memories of any store. */
export function refuseLimited({ principal }: { readonly principal: Principal }): void {
  if (principal.allowed_stores.length > 0)
    throw new Refusal('scope_missing', 'models serve every store; the key is limited to some')
}

/** Finds the provider of a model. Returns `null` if none is configured and enabled. */
export async function findModel(
  kernel: Kernel,
  db: TenantDb,
  model_id: string,
): Promise<OpenProvider | null> {
  const row = await findProviderOf(db, await labelOf(kernel, db.tenant_id, model_id))
  if (!row || row.enabled === 0) return null
  const [words = null] = await providerColumn.openAll(kernel, db.tenant_id, [row])
  return words && { row, words }
}

function showProvider(row: ProviderRow, words: ProviderWords | null): ModelProvider {
  return {
    config_id: row.provider_id,
    provider: row.kind,
    model_id: words?.model_id ?? '',
    base_url: words?.base_url ?? '',
    api_key_set: words !== null && words.api_key !== null,
    streams: words?.streams === true,
    price_in_micro: row.price_in_micro,
    price_out_micro: row.price_out_micro,
    enabled: row.enabled === 1,
    created_at: formatTime(row.created_us),
  }
}

export const createProvider: Handler<typeof contract.create_provider> = async (call, { body }) => {
  refuseLimited(call)
  const { kernel, tenant_id } = call
  const base_url = (body.base_url ?? BASE_URLS[body.provider]).replace(/\/+$/, '')
  if (await kernel.egress.isRefused(base_url)) return call.refuse('url_refused')
  const provider_id = kernel.ids.hex(ID_BYTES)
  const streams = body.streams === true && { streams: true }
  const words: ProviderWords = {
    model_id: body.model_id,
    base_url,
    api_key: body.api_key ?? null,
    ...streams,
  }
  const prices = {
    price_in_micro: body.price_in_micro ?? 0,
    price_out_micro: body.price_out_micro ?? 0,
  }
  const keys = await kernel.keyring.tenant(tenant_id)
  const definition = {
    kind: body.provider,
    model_id: words.model_id,
    base_url,
    ...prices,
    ...streams,
  }
  const given = {
    ...prices,
    provider_id,
    model_key: await labelOf(kernel, tenant_id, words.model_id),
    kind: body.provider,
    enabled: Number(body.enabled ?? true),
    definition_label: keys.label(`llm provider\n${canonicalize(definition)}`),
    ...(await providerColumn.sealNew(kernel, tenant_id, { provider_id }, words)),
  }
  const replaced: { secret_no: number | null } = { secret_no: null }
  const shown = await call.once<ModelProvider>({
    async run(tx) {
      const row = await replace(call, tx, given, replaced)
      return { reply: showProvider(row, words), ids: { provider_id } }
    },
    async replay(tx, ids) {
      const row = await findProvider(tx, String(ids['provider_id']))
      if (!row) return call.refuse('idempotency_key_reused')
      const [opened = null] = await providerColumn.openAll(kernel, tenant_id, [row])
      return showProvider(row, opened)
    },
  })
  // The secret of the row that was replaced, or the new one if a repeated request did not store it.
  const unused = shown.config_id === provider_id ? replaced.secret_no : given.secret_no
  if (unused !== null && unused !== REDACTED_SECRET)
    await kernel.keyring.destroySecrets(tenant_id, 'decision', [unused])
  return shown
}

async function replace(
  call: Call<typeof contract.create_provider>,
  tx: Tx,
  given: Omit<ProviderRow, 'created_us'>,
  replaced: { secret_no: number | null },
): Promise<ProviderRow> {
  const known = await findProviderOf(tx, given.model_key)
  if (!known && (await countProviders(tx)) >= llmLimits.providers_per_tenant)
    return call.refuse('too_many')
  if (known) await deleteProviderRow(tx, known.provider_id)
  replaced.secret_no = known?.secret_no ?? null
  const row: ProviderRow = { ...given, created_us: tx.now() }
  await insertProvider(tx, row)
  meter(tx, call.operation.id)
  await appendChange(tx, row, known ? 'replaced' : 'created', call.principal.key_id)
  return row
}

const appendChange = (
  tx: Tx,
  row: ProviderRow,
  change: 'created' | 'replaced' | 'deleted' | 'redacted',
  changed_by: string,
) =>
  appendCrumb(tx, {
    event_type: 'provider.changed',
    subject: row.provider_id,
    payload: {
      change,
      kind: row.kind,
      enabled: row.enabled === 1 && change !== 'deleted' && change !== 'redacted',
      definition: row.definition_label,
      changed_by,
    },
  })

export const listProviderPage: Handler<typeof contract.list_providers> = async (
  call,
  { query },
) => {
  refuseLimited(call)
  const page = pageOf(query, llmLimits.page.default, call.operation.id)
  const rows = await call.read((db) => listProviders(db, page))
  const last = rows.at(-1)
  const words = await providerColumn.openAll(call.kernel, call.tenant_id, rows)
  return page.envelope(
    'providers',
    rows.map((row, i) => showProvider(row, words[i] ?? null)),
    last ? { at: last.created_us, id: last.provider_id } : null,
  )
}

// Destroys the secret first: a crash then leaves an unreadable row that can be deleted again.
export const deleteProvider: Handler<typeof contract.delete_provider> = async (
  call,
  { params },
) => {
  refuseLimited(call)
  const { kernel, tenant_id } = call
  const { model_id } = params
  const model_key = await labelOf(kernel, tenant_id, model_id)
  const known = await call.read((db) => findProviderOf(db, model_key))
  if (!known) return call.refuse('provider_not_found')
  if (known.secret_no !== REDACTED_SECRET)
    await kernel.keyring.destroySecrets(tenant_id, 'decision', [known.secret_no])
  return call.transact(async (tx) => {
    const row = await findProvider(tx, known.provider_id)
    if (!row) return call.refuse('provider_not_found')
    await deleteProviderRow(tx, row.provider_id)
    meter(tx, call.operation.id)
    await appendChange(tx, row, 'deleted', call.principal.key_id)
    return { deleted: true as const, model_id }
  })
}

/** A provider whose address is redacted is disabled. */
export const providerTextSource = textSource<
  ProviderRow,
  { readonly model_id: string; readonly base_url: string }
>({
  kind: 'provider',
  list: (db, after, limit) => listProvidersAfter(db, after?.provider_id ?? '', limit),
  find: findProvider,
  idOf: ({ provider_id }) => provider_id,
  createdUs: ({ created_us }) => created_us,
  async open(kernel, tenant_id, rows) {
    const opened = await providerColumn.openAll(kernel, tenant_id, rows)
    return opened.map((words) => words && { model_id: words.model_id, base_url: words.base_url })
  },
  redact: async (kernel, tenant_id, { row }) => [
    await providerColumn.sealRedacted(kernel, tenant_id, row, {
      model_id: REDACTED_TEXT,
      base_url: '',
      api_key: null,
    }),
  ],
  async update(tx, row, [sealed]) {
    const change = { secret_no: REDACTED_SECRET, sealed, enabled: 0 }
    await updateProvider(tx, row.provider_id, change)
    await appendChange(tx, row, 'redacted', row.provider_id)
  },
})
