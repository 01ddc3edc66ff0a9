// custos tenant: tenants of a running service, with the operator's credential; which cluster serves
// one, and moving it.

import type { Custos } from '@custos/client'
import {
  abortTenantMove,
  assignTenant,
  clusterNameOf,
  clusterOf,
  loadCluster,
  parseConfig,
  readClusterEnvironment,
  readClusters,
  readEnvironment,
  runTenantMove,
  type TenantMove,
} from '@custos/server'
import {
  CLIENT_HELP,
  CLIENT_OPTIONS,
  setMembers,
  unchecked,
  useClient,
} from '../../client-calls.ts'
import { type Command, readArguments, requirePositionals, UsageError } from '../../command.ts'
import { formatTable, startProgress } from '../../output.ts'

export const tenant: Command = {
  usage:
    'create NAME | list | invite ID EMAIL | rotate-key ID | usage ID |\n' +
    '       destroy ID | destruction ID | clusters [ID] | move ID --to CLUSTER',
  help: `  create       create a tenant; its key is shown only once
  list         list every tenant, oldest first
  invite       invite a person; print the invitation, which is shown only once
  rotate-key   revoke all keys of a tenant at once and show a new one
  usage        show the operations and bytes of a month
  destroy      destroy all keys of a tenant and print the signed certificate. Nobody can read
               the tenant's data afterwards, and it cannot be undone
  destruction  print the certificate of a destroyed tenant
  clusters     show the table of clusters, or the address that serves a tenant
  move         move a tenant that is being served to another cluster on PostgreSQL, print the proof
               and update the table. Run it with roles that own the tables, and again if it was
               interrupted; docs/operating/clusters.md has the settings

  --plan PLAN            starter (default), pro or enterprise
  --role ROLE            owner (default), admin, operator_of_stores, approver, auditor, viewer
  --period PERIOD        current_month (default) or previous_month
  --confirm TEXT         the text "destroy ID"
  --clusters FILE, CUSTOS_CLUSTERS
                         JSON file with the clusters and the tenants each of them serves
  --to CLUSTER           cluster of that file to move to
  --abort                take back a move that was interrupted before the tenant had left
  --legal-basis TEXT     part of the certificate
  --requested-by TEXT    part of the certificate; do not name a person
${CLIENT_HELP}`,
  run: runTenant,
}

async function runTenant(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...CLIENT_OPTIONS,
    plan: { type: 'string' },
    role: { type: 'string' },
    period: { type: 'string' },
    confirm: { type: 'string' },
    clusters: { type: 'string' },
    to: { type: 'string' },
    abort: { type: 'boolean' },
    'legal-basis': { type: 'string' },
    'requested-by': { type: 'string' },
  })
  const [verb, ...rest] = positionals
  // These two verbs do not call a service.
  if (verb === 'clusters') showClusters(rest, values.clusters)
  if (verb === 'move') await moveTenant(rest, values)
  if (verb === 'clusters' || verb === 'move') return 0
  const verbs: Record<string, (custos: Custos) => Promise<void>> = {
    create: (custos) => create(custos, rest, values.plan),
    list: (custos) => list(custos, rest),
    invite: (custos) => invite(custos, rest, values.role),
    'rotate-key': (custos) => rotateKey(custos, rest),
    usage: (custos) => usage(custos, rest, values.period),
    destroy: (custos) =>
      destroy(custos, rest, {
        confirm: values.confirm,
        legal_basis: values['legal-basis'],
        requested_by: values['requested-by'],
      }),
    destruction: (custos) => destruction(custos, rest),
  }
  const act = Object.hasOwn(verbs, verb ?? '') ? verbs[verb ?? ''] : undefined
  if (!act)
    throw new UsageError(
      'expected create, list, invite, rotate-key, usage, destroy, destruction, clusters or move',
    )
  await useClient(values, 'operator', act)
  return 0
}

async function create(
  custos: Custos,
  rest: readonly string[],
  plan: string | undefined,
): Promise<void> {
  requirePositionals(rest, 'NAME')
  const made = await custos.tenants.create(unchecked(setMembers({ name: rest[0], plan })))
  console.log(`tenant ${made.tenant_id} (${made.name}, ${made.plan})`)
  console.log(`api key ${made.api_key}`)
  console.log('the key is not shown again')
}

async function list(custos: Custos, rest: readonly string[]): Promise<void> {
  requirePositionals(rest)
  const tenants = await custos.tenants.list()
  const rows = tenants.map((t) => [t.tenant_id, t.name, t.plan, t.created_at, t.status])
  console.log(formatTable([['tenant', 'name', 'plan', 'created', 'status'], ...rows]))
}

async function invite(custos: Custos, rest: readonly string[], role = 'owner'): Promise<void> {
  requirePositionals(rest, 'ID', 'EMAIL')
  const { user, invitation } = await custos.identity.invite(
    rest[0] ?? '',
    unchecked({ email: rest[1], roles: [role] }),
  )
  console.log(`person ${user.user_id} (${role})`)
  console.log(`invitation ${invitation}`)
  console.log('the person enters it on the sign-in page, /console; it is not shown again')
  console.log(`it can be taken once, until ${user.invited_until}`)
}

async function rotateKey(custos: Custos, rest: readonly string[]): Promise<void> {
  requirePositionals(rest, 'ID')
  const { api_key, revoked } = await custos.tenants.rotateKey(rest[0] ?? '')
  console.log(`api key ${api_key}`)
  console.log(`${revoked} keys revoked; the new one is not shown again`)
}

async function usage(
  custos: Custos,
  rest: readonly string[],
  period: string | undefined,
): Promise<void> {
  requirePositionals(rest, 'ID')
  const used = await custos.tenants.usage(rest[0] ?? '', unchecked(setMembers({ period })))
  console.log(`from ${used.period_start} to ${used.period_end}`)
  const rows = Object.entries(used.operations).sort(([a], [b]) => (a < b ? -1 : 1))
  console.log(formatTable([['operation', 'count'], ...rows]))
  console.log(`${used.total_bytes} bytes written`)
}

async function destroy(
  custos: Custos,
  rest: readonly string[],
  { confirm, ...reasons }: Record<'confirm' | 'legal_basis' | 'requested_by', string | undefined>,
): Promise<void> {
  requirePositionals(rest, 'ID')
  if (confirm !== `destroy ${rest[0]}`)
    throw new UsageError(`this cannot be undone: confirm with --confirm "destroy ${rest[0]}"`)
  const done = await custos.offboarding.destroyKey(rest[0] ?? '', {
    confirm,
    ...setMembers(reasons),
  })
  console.log(JSON.stringify(done.certificate))
}

// Only the certificate is written to standard output, so that it can be saved for `custos verify`.
async function destruction(custos: Custos, rest: readonly string[]): Promise<void> {
  requirePositionals(rest, 'ID')
  const found = await custos.offboarding.destruction(rest[0] ?? '')
  console.error(`rows: ${found.removal.state}`)
  const { witnessed = null } = found.last_checkpoint ?? {}
  if (witnessed !== null) console.error(`last checkpoint: ${witnessed ? '' : 'not yet '}witnessed`)
  console.log(JSON.stringify(found.certificate))
}

/** Prints the table of clusters, or the address of one tenant. */
function showClusters(rest: readonly string[], file: string | undefined): void {
  if (rest.length > 1) requirePositionals(rest, 'ID')
  const table = readClusters(tablePath(file))
  const [tenant_id] = rest
  if (tenant_id !== undefined) {
    console.log(clusterOf(table, tenant_id).url)
    return
  }
  const assigned = Object.entries(table.tenants)
  const count = (name: string) => assigned.filter(([, cluster]) => cluster === name).length
  const rows = table.clusters.map(({ name, url }) => [
    name,
    url,
    count(name),
    name === table.default ? 'every other tenant' : '',
  ])
  console.log(formatTable([['cluster', 'address', 'tenants', ''], ...rows]))
  if (assigned.length > 0) console.log(`\n${formatTable([['tenant', 'cluster'], ...assigned])}`)
}

/** Moves a tenant. Only the proof is written to standard output, so that it can be saved. */
async function moveTenant(
  rest: readonly string[],
  flags: {
    readonly clusters?: string | undefined
    readonly to?: string | undefined
    readonly abort?: boolean | undefined
  },
): Promise<void> {
  requirePositionals(rest, 'ID')
  const [tenant_id = ''] = rest
  const path = tablePath(flags.clusters)
  const table = readClusters(path)
  if (flags.to === undefined) throw new UsageError('name the cluster to move to with --to NAME')
  const { name, url: address } = loadCluster(table, flags.to)
  const serving = clusterNameOf(table, tenant_id)
  const known = serving === null ? {} : { served_at: loadCluster(table, serving).url }
  const move = { ...ends(), tenant_id, address, ...known }
  if (flags.abort) {
    await abortTenantMove(move)
    console.error('the move was taken back: the tenant is served where it was')
    return
  }
  const progress = startProgress('tenant move')
  try {
    const proof = await runTenantMove(move, { progress: (text) => progress.show(text) })
    progress.end()
    assignTenant(path, tenant_id, name)
    console.error(
      `tenant ${tenant_id} is served at ${address}; writes paused ${proof.paused_ms} ms`,
    )
    console.log(JSON.stringify(proof))
  } finally {
    progress.end()
  }
}

/** The settings of both clusters. Throws ConfigError. */
function ends(): Pick<TenantMove, 'from' | 'to'> {
  const environment = readEnvironment()
  const {
    CUSTOS_TO_DATABASE_URL: database,
    CUSTOS_TO_KEYRING_URL: keyring,
    CUSTOS_TO_MASTER_KEY: key,
    CUSTOS_TO_LEDGER_COPY: copy,
  } = readClusterEnvironment()
  const { CUSTOS_KEYRING_URL: _, CUSTOS_LEDGER_COPY: __, ...shared } = environment
  if (database === undefined || key === undefined)
    throw new UsageError('set CUSTOS_TO_DATABASE_URL and CUSTOS_TO_MASTER_KEY of the destination')
  const to = parseConfig({
    ...shared,
    CUSTOS_DATABASE_URL: database,
    CUSTOS_MASTER_KEY: key,
    ...(keyring === undefined ? {} : { CUSTOS_KEYRING_URL: keyring }),
    ...(copy === undefined ? {} : { CUSTOS_LEDGER_COPY: copy }),
  })
  return { from: parseConfig(environment), to }
}

function tablePath(given: string | undefined): string {
  const path = given ?? readClusterEnvironment().CUSTOS_CLUSTERS
  if (path !== undefined) return path
  throw new UsageError('name the table of clusters with --clusters FILE or CUSTOS_CLUSTERS')
}
