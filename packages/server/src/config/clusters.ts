// Reads and writes the file of CUSTOS_CLUSTERS: the clusters of a deployment, and the cluster that
// serves each tenant.

import { chmodSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { findJsonProblem } from '../platform/input/json-text.ts'
import { syncDirectory, writeFileDurably } from '../platform/keys/durable-file.ts'
import { ConfigError, read, type Setting } from './env.ts'
import { plainUrl } from './setting-files.ts'

/** Further settings of `custos tenant clusters` and `custos tenant move`. */
export const CLUSTER_SETTINGS = [
  {
    name: 'CUSTOS_CLUSTERS',
    flag: 'clusters',
    value: 'FILE',
    fallback: 'none',
    help: 'JSON file with the clusters and the tenants each of them serves',
  },
  {
    name: 'CUSTOS_TO_DATABASE_URL',
    flag: '',
    value: 'URL',
    fallback: 'none',
    help: 'PostgreSQL of the data of the cluster that a tenant is moved to',
  },
  {
    name: 'CUSTOS_TO_KEYRING_URL',
    flag: '',
    value: 'URL',
    fallback: 'the database of CUSTOS_TO_DATABASE_URL',
    help: 'PostgreSQL of the keyring of that cluster',
  },
  {
    name: 'CUSTOS_TO_MASTER_KEY',
    flag: '',
    value: 'HEX',
    fallback: 'none',
    help: 'master key of that keyring, 64 hex digits',
  },
  {
    name: 'CUSTOS_TO_LEDGER_COPY',
    flag: '',
    value: 'FILE',
    fallback: 'none',
    help: 'second copy of the erasure ledger of that cluster, if it has one',
  },
] as const satisfies readonly Setting[]

export const readClusterEnvironment = () => read(CLUSTER_SETTINGS)

interface ClusterTable {
  readonly clusters: readonly { readonly name: string; readonly url: string }[]
  /** Maps tenants to names of clusters. */
  readonly tenants: Readonly<Record<string, string>>
  /** The cluster of every other tenant, or null. */
  readonly default: string | null
}

const CLUSTERS_MAX = 1_000
const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/
const TENANT_ID = /^[\w-]{1,256}$/

const wrong = (rule: string) => new ConfigError(`CUSTOS_CLUSTERS ${rule}`)

/** Throws ConfigError, with one line that names the fault. */
export function readClusters(path: string): ClusterTable {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    throw wrong('must name a file that can be read')
  }
  return parseClusters(text)
}

export function parseClusters(text: string): ClusterTable {
  const file = members(parseJson(text), ['clusters', 'tenants', 'default'], 'the file')
  const { clusters: listed, tenants: assigned = {}, default: rest = null } = file
  if (!Array.isArray(listed) || listed.length === 0 || listed.length > CLUSTERS_MAX)
    throw wrong(`must have a list "clusters" of 1 to ${CLUSTERS_MAX}`)
  const clusters = listed.map(parseCluster)
  for (const member of ['name', 'url'] as const)
    if (new Set(clusters.map((cluster) => cluster[member])).size < clusters.length)
      throw wrong(`must have each ${member} once in "clusters"`)
  const known = (name: unknown): name is string => clusters.some((one) => one.name === name)
  if (rest !== null && !known(rest)) throw wrong('must have a cluster of the list as "default"')
  const tenants: Record<string, string> = {}
  for (const [tenant_id, name] of Object.entries(members(assigned, null, '"tenants"'))) {
    if (!TENANT_ID.test(tenant_id)) throw wrong('has something else than a tenant id in "tenants"')
    if (!known(name)) throw wrong(`must have a cluster of the list for tenant ${tenant_id}`)
    tenants[tenant_id] = name
  }
  return { clusters, tenants, default: rest }
}

function parseJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw wrong('must be a file with JSON')
  }
  // A duplicate key would assign a tenant to two clusters.
  const problem = findJsonProblem(text, value)
  if (problem) throw wrong(`must be plain JSON: ${problem.type} at ${problem.loc.join('.')}`)
  return value
}

function parseCluster(given: unknown, index: number): ClusterTable['clusters'][number] {
  const where = `cluster ${index + 1}`
  const { name, url } = members(given, ['name', 'url'], where)
  if (typeof name !== 'string' || !NAME.test(name))
    throw wrong(`must have a name of a-z, 0-9 and dashes for ${where}`)
  const plain = plainUrl(url)
  if (plain !== null) return { name, url: plain }
  throw wrong(`must have an http or https URL without credentials or query for ${where}`)
}

function members(
  given: unknown,
  names: readonly string[] | null,
  where: string,
): Readonly<Record<string, unknown>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw wrong(`must have an object for ${where}`)
  const other = Object.keys(given).find((name) => names !== null && !names.includes(name))
  if (other === undefined) return { ...given }
  throw wrong(`has an unknown member in ${where}: use ${names?.join(', ')}`)
}

/** Throws ConfigError if no cluster has the name. */
export function loadCluster(table: ClusterTable, name: string): ClusterTable['clusters'][number] {
  const found = table.clusters.find((cluster) => cluster.name === name)
  if (found) return found
  throw wrong(`has no cluster ${name}: it has ${table.clusters.map((c) => c.name).join(', ')}`)
}

/** Returns null if the table names no cluster for the tenant. */
export function clusterNameOf(table: ClusterTable, tenant_id: string): string | null {
  const own = Object.hasOwn(table.tenants, tenant_id) ? table.tenants[tenant_id] : undefined
  return own ?? table.default
}

/** The cluster that serves the tenant. Throws ConfigError if the table names none. */
export function clusterOf(table: ClusterTable, tenant_id: string) {
  const name = clusterNameOf(table, tenant_id)
  if (name === null) throw wrong(`names no cluster for tenant ${tenant_id}, and no default`)
  return loadCluster(table, name)
}

/** Replaces the file as a whole, so that a reader sees either the old table or the new one. */
export function assignTenant(path: string, tenant_id: string, name: string): void {
  const table = readClusters(path)
  loadCluster(table, name)
  const tenants = { ...table.tenants, [tenant_id]: name }
  const text = `${JSON.stringify({ ...table, tenants }, null, 2)}\n`
  const next = `${path}.new`
  rmSync(next, { force: true })
  writeFileDurably(next, Buffer.from(text))
  chmodSync(next, statSync(path).mode)
  renameSync(next, path)
  syncDirectory(dirname(path))
}
