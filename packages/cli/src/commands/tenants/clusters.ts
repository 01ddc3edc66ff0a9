// custos tenant clusters and tenant move: shows which cluster serves a tenant, and moves one.

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
import { requirePositionals, UsageError } from '../../command.ts'
import { formatTable, startProgress } from '../../output.ts'

/** Prints the table of clusters, or the address of one tenant. */
export function showClusters(rest: readonly string[], file: string | undefined): void {
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
export async function moveTenant(
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
