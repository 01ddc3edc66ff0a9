// custos tenant: tenants of a running service, with the operator's credential.

import { type Command, readArguments, requirePositionals, UsageError } from '../command.ts'
import { formatTable } from '../output.ts'
import { CLIENT_HELP, CLIENT_OPTIONS, openClient, type ServiceClient } from '../service-client.ts'

export const tenant: Command = {
  usage: 'create NAME | list | rotate-key ID | usage ID | destroy ID | destruction ID',
  help: `  create       create a tenant; its key is shown only once
  list         list every tenant, oldest first
  rotate-key   revoke all keys of a tenant at once and show a new one
  usage        show the operations and bytes of a month
  destroy      destroy all keys of a tenant and print the signed certificate. Nobody can read
               the tenant's data afterwards, and it cannot be undone
  destruction  print the certificate of a destroyed tenant

  --plan PLAN            starter (default), pro or enterprise
  --period PERIOD        current_month (default) or previous_month
  --confirm TEXT         the text "destroy ID"
  --legal-basis TEXT     part of the certificate
  --requested-by TEXT    part of the certificate; do not name a person
${CLIENT_HELP}`,
  run: runTenant,
}

interface Tenant {
  readonly tenant_id: string
  readonly name: string
  readonly plan: string
  readonly created_at: string
  readonly status: string
}

async function runTenant(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...CLIENT_OPTIONS,
    plan: { type: 'string' },
    period: { type: 'string' },
    confirm: { type: 'string' },
    'legal-basis': { type: 'string' },
    'requested-by': { type: 'string' },
  })
  const [verb, ...rest] = positionals
  const verbs: Record<string, (client: ServiceClient) => Promise<void>> = {
    create: (client) => create(client, rest, values.plan),
    list: (client) => list(client, rest),
    'rotate-key': (client) => rotateKey(client, rest),
    usage: (client) => usage(client, rest, values.period),
    destroy: (client) =>
      destroy(client, rest, {
        confirm: values.confirm,
        legal_basis: values['legal-basis'],
        requested_by: values['requested-by'],
      }),
    destruction: (client) => destruction(client, rest),
  }
  const act = Object.hasOwn(verbs, verb ?? '') ? verbs[verb ?? ''] : undefined
  if (!act) throw new UsageError('expected create, list, rotate-key, usage, destroy or destruction')
  await act(openClient(values, 'operator'))
  return 0
}

const pathOf = (id: string | undefined): string =>
  `/v1/cloud/tenants/${encodeURIComponent(id ?? '')}`

async function create(
  client: ServiceClient,
  rest: readonly string[],
  plan: string | undefined,
): Promise<void> {
  requirePositionals(rest, 'NAME')
  const made = await client.json<Tenant & { api_key: string }>('/v1/cloud/tenants', {
    method: 'POST',
    json: { name: rest[0], ...(plan === undefined ? {} : { plan }) },
  })
  console.log(`tenant ${made.tenant_id} (${made.name}, ${made.plan})`)
  console.log(`api key ${made.api_key}`)
  console.log('the key is not shown again')
}

async function list(client: ServiceClient, rest: readonly string[]): Promise<void> {
  requirePositionals(rest)
  const tenants = await client.json<Tenant[]>('/v1/cloud/tenants')
  const rows = tenants.map((t) => [t.tenant_id, t.name, t.plan, t.created_at, t.status])
  console.log(formatTable([['tenant', 'name', 'plan', 'created', 'status'], ...rows]))
}

async function rotateKey(client: ServiceClient, rest: readonly string[]): Promise<void> {
  requirePositionals(rest, 'ID')
  const path = `${pathOf(rest[0])}/rotate-key`
  const { api_key, revoked } = await client.json<{ api_key: string; revoked: number }>(path, {
    method: 'POST',
  })
  console.log(`api key ${api_key}`)
  console.log(`${revoked} keys revoked; the new one is not shown again`)
}

async function usage(
  client: ServiceClient,
  rest: readonly string[],
  period: string | undefined,
): Promise<void> {
  requirePositionals(rest, 'ID')
  const query = period === undefined ? '' : `?period=${encodeURIComponent(period)}`
  const used = await client.json<{
    period_start: string
    period_end: string
    total_bytes: number
    operations: Record<string, number>
  }>(`${pathOf(rest[0])}/usage${query}`)
  console.log(`from ${used.period_start} to ${used.period_end}`)
  const rows = Object.entries(used.operations).sort(([a], [b]) => (a < b ? -1 : 1))
  console.log(formatTable([['operation', 'count'], ...rows]))
  console.log(`${used.total_bytes} bytes written`)
}

interface Destruction {
  readonly certificate: object | null
  readonly removal: { readonly state: string }
}

const adminPath = (id: string | undefined, verb: string): string =>
  `/v1/admin/tenants/${encodeURIComponent(id ?? '')}/${verb}`

async function destroy(
  client: ServiceClient,
  rest: readonly string[],
  { confirm, ...reasons }: Record<'confirm' | 'legal_basis' | 'requested_by', string | undefined>,
): Promise<void> {
  requirePositionals(rest, 'ID')
  if (confirm !== `destroy ${rest[0]}`)
    throw new UsageError(`this cannot be undone: confirm with --confirm "destroy ${rest[0]}"`)
  const done = await client.json<Destruction>(adminPath(rest[0], 'destroy-key'), {
    method: 'POST',
    json: { confirm, ...reasons },
  })
  console.log(JSON.stringify(done.certificate))
}

// The certificate alone goes to standard output, so that it can be saved for `custos verify`.
async function destruction(client: ServiceClient, rest: readonly string[]): Promise<void> {
  requirePositionals(rest, 'ID')
  const found = await client.json<Destruction>(adminPath(rest[0], 'destruction'))
  console.error(`rows: ${found.removal.state}`)
  console.log(JSON.stringify(found.certificate))
}
