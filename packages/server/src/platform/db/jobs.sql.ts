// SQL of the job table: a control table, reached only through these functions.

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
  tx.run(builder.insertInto('jobs').values({ ...job, lease_until_us: 0 }))

export const findJob = (db: TenantDb, job_id: string) =>
  db.first(
    builder
      .selectFrom('jobs')
      .select(COLUMNS)
      .where('tenant_id', '=', db.tenant_id)
      .where('job_id', '=', job_id),
  )

/** The tenant's newest job of a kind. */
export const findLastJob = (db: TenantDb, kind: string) =>
  db.all(
    builder
      .selectFrom('jobs')
      .select(COLUMNS)
      .where('tenant_id', '=', db.tenant_id)
      .where('kind', '=', kind)
      .orderBy('created_us', 'desc')
      .limit(100),
  )

/** The tenant's jobs of a kind that are not at their end. */
export const findOpenJobs = (db: TenantDb, kind: string) =>
  db.all(
    builder
      .selectFrom('jobs')
      .select(['job_id', 'payload'])
      .where('tenant_id', '=', db.tenant_id)
      .where('kind', '=', kind)
      .where('state', 'in', ['queued', 'running']),
  )

/** Some kinds of jobs: those named, or all others. */
interface Kinds {
  readonly among: 'in' | 'not in'
  readonly kinds: readonly string[]
}

const EVERY_KIND: Kinds = { among: 'not in', kinds: [] }

/** The job that nobody holds and that has been due longest; those never begun before others. */
export const findDueJob = (
  db: TenantDb,
  now_us: number,
  { among, kinds }: Kinds = EVERY_KIND,
): Promise<JobRow | undefined> => {
  const due = builder
    .selectFrom('jobs')
    .select(COLUMNS)
    .where('state', 'in', ['queued', 'running'])
    .where('lease_until_us', '<', now_us)
    .orderBy('lease_until_us')
    .orderBy('created_us')
    .limit(1)
  return db.first(kinds.length === 0 ? due : due.where('kind', among, kinds))
}

/** Takes the lease if it is still free: one conditional update decides races. */
export const leaseJob = (tx: Tx, job_id: string, now_us: number, until_us: number) =>
  tx.run(
    builder
      .updateTable('jobs')
      .set((e) => ({
        state: 'running',
        lease_until_us: until_us,
        attempts: e('attempts', '+', 1),
        updated_us: now_us,
      }))
      .where('job_id', '=', job_id)
      .where('state', 'in', ['queued', 'running'])
      .where('lease_until_us', '<', now_us),
  )

/** Jobs somebody holds are due at once. */
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

/** Changes a job that has not ended; returns 0 if it has, or if there is none. */
export const updateJob = (tx: Tx, job_id: string, change: Partial<JobChange>): Promise<number> =>
  tx.run(
    builder
      .updateTable('jobs')
      .set(change)
      .where('job_id', '=', job_id)
      .where('state', 'in', ['queued', 'running']),
  )

export const countOpenJobs = async (db: TenantDb): Promise<number> => {
  const row = await db.first(
    builder
      .selectFrom('jobs')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('state', 'in', ['queued', 'running']),
  )
  return Number(row?.count ?? 0)
}
