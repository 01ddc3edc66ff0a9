// Tools of managed runs: defined, listed and deleted. Their names, texts and headers are sealed.

import assert from 'node:assert/strict'
import { type llm as contract, llmLimits, TOOL_KINDS, type Tool } from '@custos/contract'
import { canonicalize, isObject, type JsonObject } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import { findValueProblem } from '../../platform/input/json-text.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { jsonPayload, REDACTED_SECRET, sealedColumn } from '../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT, textSource } from '../../platform/kernel/text-source.ts'
import { pageOf } from '../../platform/page.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import { findProblems, readJsonSchema, SpecRefused, showProblem } from '../world-model/index.ts'
import {
  actionSchema,
  DELEGATE,
  isBuiltinName,
  isMemoryKind,
  MEMORY_TOOLS,
  type MemoryKind,
} from './builtin-tools.ts'
import { UNREADABLE } from './chat.ts'
import {
  countTools,
  deleteToolRow,
  findTool,
  findToolByName,
  insertTool,
  listToolPage,
  listToolsAfter,
  type ToolRow,
  updateTool,
} from './llm.sql.ts'
import { refuseLimited } from './providers.ts'
import { checkTemplate, type HttpTarget } from './tool-request.ts'

const ID_BYTES = 16

interface ToolWords extends HttpTarget {
  readonly name: string
  readonly description: string
  readonly input_schema: JsonObject
  /** The action of the world model that the tool invokes. */
  readonly action_name?: string
  /** The tool that undoes a call, and how its arguments are filled. */
  readonly compensation?: { readonly tool: string; readonly map: Readonly<Record<string, string>> }
}

export interface OpenTool {
  readonly row: ToolRow
  readonly words: ToolWords
}

const toolColumn = sealedColumn({
  domain: 'llm_tool',
  ids: (tenant_id, { tool_id }: Pick<ToolRow, 'tool_id'>) => [tenant_id, tool_id],
  payload: jsonPayload<ToolWords>(),
})

const labelOf = async ({ keyring }: Kernel, tenant_id: string, name: string): Promise<string> =>
  (await keyring.tenant(tenant_id)).label(`llm tool\n${name}`)

/** Lists the tools that managed runs may call, oldest first. */
export async function listEnabledTools(kernel: Kernel, db: TenantDb): Promise<OpenTool[]> {
  const all = await listToolPage(db, { limit: llmLimits.tools_per_tenant, offset: 0, after: null })
  const rows = all.filter(({ enabled }) => enabled === 1)
  const opened = await toolColumn.openAll(kernel, db.tenant_id, rows)
  return rows.flatMap((row, i) => {
    const words = opened[i]
    return words ? [{ row, words }] : []
  })
}

/** Why arguments do not fit the tool, in one line without their values; `null` if they fit. */
export function findArgsProblem({ words }: OpenTool, args: JsonObject): string | null {
  // A number that lost precision when it was parsed would name something else.
  const changed = findValueProblem(args)
  if (changed) return showProblem(changed)
  const { properties } = words.input_schema
  const declared = isObject(properties) && Object.hasOwn(properties, UNREADABLE)
  if (!declared && Object.hasOwn(args, UNREADABLE)) return 'is no JSON object'
  const problems = findProblems(readJsonSchema(words.input_schema, []), args)
  return problems.length === 0 ? null : problems.map(showProblem).join('; ')
}

function showTool(row: ToolRow, words: ToolWords | null): Tool {
  return {
    tool_id: row.tool_id,
    name: words?.name ?? '',
    description: words?.description ?? '',
    tool_type: row.kind,
    effect: row.effect,
    input_schema: words?.input_schema ?? {},
    method: row.kind === 'http' ? (words?.method ?? 'POST') : null,
    // A redacted tool has no address.
    url: words?.url || null,
    action_name: words?.action_name ?? null,
    compensation: words?.compensation ?? null,
    builtin: isBuiltinName(words?.name ?? ''),
    headers: Object.keys(words?.headers ?? {}),
    version: row.version,
    enabled: row.enabled === 1,
    created_at: formatTime(row.created_us),
  }
}

export const createTool: Handler<typeof contract.create_tool> = async (call, { body }) => {
  refuseLimited(call)
  const { kernel, tenant_id } = call
  if (isBuiltinName(body.name) || body.name === DELEGATE)
    return call.refuse('name_taken', 'the name is that of a built-in')
  const { words, kind, effect } = await defineTool(call, body)
  const given = await prepareTool(kernel, tenant_id, words, {
    kind,
    effect,
    enabled: Number(body.enabled ?? true),
  })
  const { tool_id } = given
  const replaced: { secret_no: number | null } = { secret_no: null }
  const shown = await call.once<Tool>({
    async run(tx) {
      const row = await replace(call, tx, given, replaced)
      return { reply: showTool(row, words), ids: { tool_id } }
    },
    async replay(tx, ids) {
      const row = await findTool(tx, String(ids['tool_id']))
      if (!row) return call.refuse('idempotency_key_reused')
      const [opened = null] = await toolColumn.openAll(kernel, tenant_id, [row])
      return showTool(row, opened)
    },
  })
  // The secret of the row that was replaced, or the new one if a repeated request did not store it.
  const unused = shown.tool_id === tool_id ? replaced.secret_no : given.secret_no
  if (unused !== null && unused !== REDACTED_SECRET)
    await kernel.keyring.destroySecrets(tenant_id, 'decision', [unused])
  return shown
}

/** Refuses members that do not belong to the kind of tool. */
async function defineTool(
  call: Call<typeof contract.create_tool>,
  body: Parameters<Handler<typeof contract.create_tool>>[1]['body'],
): Promise<Pick<ToolRow, 'kind' | 'effect'> & { readonly words: ToolWords }> {
  const { name, description, tool_type, url, method, headers, action_name } = body
  const kind = tool_type ?? (url == null ? 'client' : 'http')
  const { input_schema, effect, compensation } = body
  const undoing = compensation == null ? {} : { compensation }
  if (kind !== 'http' && (url ?? method ?? headers) != null)
    return call.refuse('rejected', `a tool of the kind ${kind} sends no request`)
  if (kind !== 'action' && action_name != null)
    return call.refuse('rejected', `a tool of the kind ${kind} invokes no action`)
  if (isMemoryKind(kind)) {
    const fixed = MEMORY_TOOLS[kind]
    if (input_schema != null || (effect ?? fixed.effect) !== fixed.effect)
      return call.refuse('rejected', `a tool of the kind ${kind} has its own schema and effect`)
    const words = { name, description, ...memoryWords(kind), ...undoing }
    return { words, kind, effect: fixed.effect }
  }
  const given = input_schema ?? { type: 'object' }
  assert(isObject(given), 'the schema of the body says that it is an object')
  const words: ToolWords = {
    name,
    description,
    ...NO_REQUEST,
    input_schema: kind === 'action' ? actionSchema(given) : given,
    ...(kind === 'http' && { method: method ?? 'POST', url: url ?? '', headers: headers ?? {} }),
    ...(action_name != null && { action_name }),
    ...undoing,
  }
  if (kind === 'http' && (input_schema == null || url == null))
    return call.refuse('rejected', 'a tool of the kind http needs input_schema and url')
  if (kind === 'action' && action_name == null)
    return call.refuse('rejected', 'a tool of the kind action needs action_name')
  requireSchema(call, words)
  if (kind === 'http') await requireTarget(call, words)
  return { words, kind, effect: effect ?? 'once' }
}

async function requireTarget(
  call: Call<typeof contract.create_tool>,
  words: ToolWords,
): Promise<void> {
  const problem = checkTemplate(words)
  if (problem !== null) return call.refuse('rejected', problem)
  if (await call.kernel.egress.isRefused(words.url.replace(/\{\w+\}/g, 'x')))
    return call.refuse('url_refused')
}

const NO_REQUEST = { method: 'POST', url: '', headers: {} } as const

const memoryWords = (kind: MemoryKind): Omit<ToolWords, 'name' | 'description'> => ({
  input_schema: MEMORY_TOOLS[kind].input_schema,
  ...NO_REQUEST,
})

async function prepareTool(
  kernel: Kernel,
  tenant_id: string,
  words: ToolWords,
  numbers: Pick<ToolRow, 'kind' | 'effect' | 'enabled'>,
): Promise<Omit<ToolRow, 'created_us' | 'version'>> {
  const tool_id = kernel.ids.hex(ID_BYTES)
  const keys = await kernel.keyring.tenant(tenant_id)
  const { kind, effect } = numbers
  const definition = { ...words, effect, ...(kind !== 'http' && { kind }) }
  return {
    ...numbers,
    tool_id,
    name_key: await labelOf(kernel, tenant_id, words.name),
    definition_label: keys.label(`llm tool definition\n${canonicalize(definition)}`),
    ...(await toolColumn.sealNew(kernel, tenant_id, { tool_id }, words)),
  }
}

/** Creates the built-in tools that are missing, all or none. */
export const seedBuiltins: Handler<typeof contract.seed_builtins> = async (call) => {
  refuseLimited(call)
  const { kernel, tenant_id } = call
  const prepared = await Promise.all(
    BUILTINS.map(({ kind, name }) => {
      const { description, effect } = MEMORY_TOOLS[kind]
      const words = { name, description, ...memoryWords(kind) }
      return prepareTool(kernel, tenant_id, words, { kind, effect, enabled: 1 })
    }),
  )
  let unused = prepared
  const reply = await call.once<{ seeded: number }>({
    async run(tx) {
      const stored: typeof prepared = []
      for (const given of prepared) {
        if (await findToolByName(tx, given.name_key)) continue
        await replace(call, tx, given, { secret_no: null })
        stored.push(given)
      }
      unused = prepared.filter((one) => !stored.includes(one))
      const seeded = stored.length
      return { reply: { seeded }, ids: { seeded } }
    },
    // The ids were written by `run` above.
    replay: async (_, ids) => ({ seeded: Number(ids['seeded']) }),
  })
  const secrets = unused.map(({ secret_no }) => secret_no)
  if (secrets.length > 0) await kernel.keyring.destroySecrets(tenant_id, 'decision', secrets)
  return reply
}

const BUILTINS = TOOL_KINDS.filter(isMemoryKind).flatMap((kind) => {
  const { name } = MEMORY_TOOLS[kind]
  return name === null ? [] : [{ kind, name }]
})

function requireSchema(call: Call<typeof contract.create_tool>, { input_schema }: ToolWords): void {
  try {
    readJsonSchema(input_schema, ['body', 'input_schema'])
  } catch (error) {
    if (!(error instanceof SpecRefused)) throw error
    call.refuse('rejected', `${error.loc.join('.')}: ${error.message}`)
  }
}

async function replace(
  call: Call<typeof contract.create_tool> | Call<typeof contract.seed_builtins>,
  tx: Tx,
  given: Omit<ToolRow, 'created_us' | 'version'>,
  replaced: { secret_no: number | null },
): Promise<ToolRow> {
  const known = await findToolByName(tx, given.name_key)
  if (!known && (await countTools(tx)) >= llmLimits.tools_per_tenant) return call.refuse('too_many')
  if (known) await deleteToolRow(tx, known.tool_id)
  replaced.secret_no = known?.secret_no ?? null
  const row: ToolRow = { ...given, version: (known?.version ?? 0) + 1, created_us: tx.now() }
  await insertTool(tx, row)
  meter(tx, call.operation.id)
  await appendChange(tx, row, known ? 'replaced' : 'created', call.principal.key_id)
  return row
}

const appendChange = (
  tx: Tx,
  row: ToolRow,
  change: 'created' | 'replaced' | 'deleted' | 'redacted',
  changed_by: string,
) =>
  appendCrumb(tx, {
    event_type: 'tool.changed',
    subject: row.tool_id,
    payload: {
      change,
      version: row.version,
      effect: row.effect,
      enabled: row.enabled === 1 && change !== 'deleted' && change !== 'redacted',
      definition: row.definition_label,
      changed_by,
    },
  })

export const listTools: Handler<typeof contract.list_tools> = async (call, { query }) => {
  refuseLimited(call)
  const page = pageOf(query, llmLimits.page.default, call.operation.id)
  const rows = await call.read((db) => listToolPage(db, page))
  const last = rows.at(-1)
  const words = await toolColumn.openAll(call.kernel, call.tenant_id, rows)
  return page.envelope(
    'tools',
    rows.map((row, i) => showTool(row, words[i] ?? null)),
    last ? { at: last.created_us, id: last.tool_id } : null,
  )
}

// Destroys the secret first: a crash then leaves an unreadable row that can be deleted again.
export const deleteTool: Handler<typeof contract.delete_tool> = async (call, { params }) => {
  refuseLimited(call)
  const { kernel, tenant_id } = call
  const { tool_name } = params
  const name_key = await labelOf(kernel, tenant_id, tool_name)
  const known = await call.read((db) => findToolByName(db, name_key))
  if (!known) return call.refuse('tool_not_found')
  if (known.secret_no !== REDACTED_SECRET)
    await kernel.keyring.destroySecrets(tenant_id, 'decision', [known.secret_no])
  return call.transact(async (tx) => {
    const row = await findTool(tx, known.tool_id)
    if (!row) return call.refuse('tool_not_found')
    await deleteToolRow(tx, row.tool_id)
    meter(tx, call.operation.id)
    await appendChange(tx, row, 'deleted', call.principal.key_id)
    return { deleted: true as const, tool_name }
  })
}

/** A tool whose texts are redacted is disabled. */
export const toolTextSource = textSource<
  ToolRow,
  { readonly name: string; readonly description: string; readonly url: string }
>({
  kind: 'tool',
  list: (db, after, limit) => listToolsAfter(db, after?.tool_id ?? '', limit),
  find: findTool,
  idOf: ({ tool_id }) => tool_id,
  createdUs: ({ created_us }) => created_us,
  async open(kernel, tenant_id, rows) {
    const opened = await toolColumn.openAll(kernel, tenant_id, rows)
    return opened.map(
      (words) => words && { name: words.name, description: words.description, url: words.url },
    )
  },
  redact: async (kernel, tenant_id, { row }) => [
    await toolColumn.sealRedacted(kernel, tenant_id, row, {
      name: REDACTED_TEXT,
      description: '',
      input_schema: {},
      method: 'POST',
      url: '',
      headers: {},
    }),
  ],
  async update(tx, row, [sealed]) {
    const change = { secret_no: REDACTED_SECRET, sealed, enabled: 0 }
    await updateTool(tx, row.tool_id, change)
    await appendChange(tx, row, 'redacted', row.tool_id)
  },
})
