// SQL of the `jobs` table, a control table that only these functions use.

import { builder } from './builder.ts'
import type { TenantDb, Tx } from './tenant-db.ts'

const COLUMNS = [
  'job_id',
  'tenant_id',
  'kind',
  'state',
  'payload',
  'progress_done',
  'progress_total',
  'attempts',
  'error',
  'created_us',
  'updated_us',
] as const

export interface JobRow {
  job_id: string
  tenant_id: string
  kind: string
  state: string
  payload: string
  progress_done: number
  progress_total: number
  attempts: number
  error: string | null
  created_us: number
  updated_us: number
}

export const insertJob = (tx: Tx, job: JobRow) =>
  tx.run(builder.insertInto('jobs').values({ ...job, lease_until_us: 0, woken: null }))

export const findJob = (db: TenantDb, job_id: string) =>
  db.first(
    builder
      .selectFrom('jobs')
      .select(COLUMNS)
      .where('tenant_id', '=', db.tenant_id)
      .where('job_id', '=', job_id),
  )

/** The tenant's 100 newest jobs of a kind, newest first. */
export const listNewestJobs = (db: TenantDb, kind: string) =>
  db.all(
    builder
      .selectFrom('jobs')
      .select(COLUMNS)
      .where('tenant_id', '=', db.tenant_id)
      .where('kind', '=', kind)
      .orderBy('created_us', 'desc')
      .limit(100),
  )

/** The tenant's jobs of a kind that have not ended. */
export const findOpenJobs = (db: TenantDb, kind: string) =>
  db.all(
    builder
      .selectFrom('jobs')
      .select(['job_id', 'payload'])
      .where('tenant_id', '=', db.tenant_id)
      .where('kind', '=', kind)
      .where('state', 'in', ['queued', 'running']),
  )

/** Tenants with a job of a kind that has not ended. */
export async function listTenantsWithJob(db: TenantDb, kind: string): Promise<string[]> {
  const rows = await db.all(
    builder
      .selectFrom('jobs')
      .select('tenant_id')
      .distinct()
      .where('kind', '=', kind)
      .where('state', 'in', ['queued', 'running']),
  )
  return rows.map(({ tenant_id }) => tenant_id)
}

/** Lease end of a job that sleeps until it is woken. */
export const NEVER_US = Number.MAX_SAFE_INTEGER

/** Tenants that are being moved, or were moved, to another cluster; their jobs run there. */
const leavingTenants = () =>
  builder.selectFrom('tenant_moves').select('tenant_id').where('state', 'in', ['leaving', 'left'])

/** Unleased jobs that are due, longest due first; of every kind unless `kinds` is given. */
export const listDueJobs = (
  db: TenantDb,
  now_us: number,
  {
    kinds,
    except_tenants = [],
    limit = 1,
  }: { kinds?: string[]; except_tenants?: readonly string[]; limit?: number } = {},
): Promise<JobRow[]> => {
  const due = builder
    .selectFrom('jobs')
    .select(COLUMNS)
    .where('state', 'in', ['queued', 'running'])
    .where('lease_until_us', '<', now_us)
    .where('tenant_id', 'not in', except_tenants)
    .where('tenant_id', 'not in', leavingTenants())
    .orderBy('lease_until_us')
    .orderBy('created_us')
    .limit(limit)
  return db.all(kinds === undefined ? due : due.where('kind', 'in', kinds))
}

/**
 * Acquires the leases that are still free and returns their jobs; one conditional update decides
 * races. Skips rows locked by another transaction, so that it never waits for a unit of work.
 * @param shared whether other processes use the same database
 */
export async function leaseJobs(
  tx: Tx,
  job_ids: readonly string[],
  { now_us, until_us, shared }: { now_us: number; until_us: number; shared: boolean },
): Promise<Set<string>> {
  const free = builder
    .selectFrom('jobs')
    .select('job_id')
    .where('job_id', 'in', job_ids)
    .where('state', 'in', ['queued', 'running'])
    .where('lease_until_us', '<', now_us)
  const leased = await tx.all(
    builder
      .updateTable('jobs')
      .set((e) => ({
        state: 'running',
        woken: null,
        lease_until_us: until_us,
        attempts: e('attempts', '+', 1),
        updated_us: now_us,
      }))
      .where('job_id', 'in', shared ? free.forUpdate().skipLocked() : free)
      .returning('job_id'),
  )
  return new Set(leased.map(({ job_id }) => job_id))
}

/** Releases the leases of all running jobs, so that these are due at once. */
export const releaseLeases = (tx: Tx) =>
  tx.run(builder.updateTable('jobs').set({ lease_until_us: 0 }).where('state', '=', 'running'))

export interface JobChange {
  state: string
  progress_done: number
  progress_total: number
  attempts: number
  error: string | null
  updated_us: number
  lease_until_us: number
}

/** Changes a job that has not ended; returns 0 if it has ended or does not exist. */
export const updateJob = (tx: Tx, job_id: string, change: Partial<JobChange>): Promise<number> =>
  tx.run(
    builder
      .updateTable('jobs')
      .set(change)
      .where('job_id', '=', job_id)
      .where('state', 'in', ['queued', 'running']),
  )

/** Like `updateJob`, by the process whose lease ends at `held_us`; 0 also if it lost the job. */
export const updateHeldJob = (
  tx: Tx,
  job_id: string,
  { held_us, ...change }: Partial<JobChange> & { readonly held_us: number },
): Promise<number> =>
  tx.run(
    builder
      .updateTable('jobs')
      .set(change)
      .where('job_id', '=', job_id)
      .where('state', '=', 'running')
      .where('lease_until_us', '=', held_us),
  )

/**
 * Queues a running job again, by the process whose lease ends at `held_us`: due at `until_us`, or
 * at once if it was woken since it started.
 */
export async function pauseJob(
  tx: Tx,
  job_id: string,
  {
    held_us,
    until_us,
    updated_us,
    error,
  }: {
    readonly held_us: number
    readonly until_us: number
    readonly updated_us: number
    /** Set if the attempt failed, which then stays counted. */
    readonly error?: string | undefined
  },
): Promise<void> {
  const failed = error === undefined ? { error: null, attempts: 0 } : { error }
  const paused = { state: 'queued', ...failed, updated_us }
  const query = (lease_until_us: number) =>
    builder
      .updateTable('jobs')
      .set({ ...paused, lease_until_us })
      .where('job_id', '=', job_id)
      .where('state', '=', 'running')
      .where('lease_until_us', '=', held_us)
  if ((await tx.run(query(until_us).where('woken', 'is', null))) === 0)
    await tx.run(query(0).where('woken', '=', 1))
}

/** Makes a job due at once, or when it next pauses; a failed job keeps its retry time. */
export const wakeJob = (tx: Tx, job_id: string) =>
  tx.run(
    builder
      .updateTable('jobs')
      .set((e) => ({
        woken: 1,
        lease_until_us: e
          .case()
          .when(e.and([e('state', '=', 'queued'), e('error', 'is', null)]))
          .then(0)
          .else(e.ref('lease_until_us'))
          .end(),
      }))
      .where('tenant_id', '=', tx.tenant_id)
      .where('job_id', '=', job_id)
      .where('state', 'in', ['queued', 'running']),
  )

/** Those of the jobs that will run without a further wake: already woken, or due at once. */
export async function listAwake(db: TenantDb, job_ids: readonly string[]): Promise<Set<string>> {
  const rows = await db.all(
    builder
      .selectFrom('jobs')
      .select('job_id')
      .where('tenant_id', '=', db.tenant_id)
      .where('job_id', 'in', job_ids)
      .where('state', 'in', ['queued', 'running'])
      .where((e) => e.or([e('woken', '=', 1), e('lease_until_us', '=', 0)])),
  )
  return new Set(rows.map(({ job_id }) => job_id))
}

/** Counts jobs that have not ended, except those that sleep until they are woken. */
export const countOpenJobs = async (db: TenantDb): Promise<number> => {
  const row = await db.first(
    builder
      .selectFrom('jobs')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('state', 'in', ['queued', 'running'])
      .where('lease_until_us', '<', NEVER_US),
  )
  return Number(row?.count ?? 0)
}
