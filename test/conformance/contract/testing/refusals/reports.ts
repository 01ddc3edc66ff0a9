// For every refusal an operation of reports declares, a request that provokes it.

import { exampleOf } from '../../examples.ts'
import { GHOSTS } from '../world.ts'
import type { Provoke } from './provoke.ts'

const ofNone = (id: string): [string, Provoke] => [
  `${id} report_not_found`,
  ({ tenant }) => tenant.ask(id, exampleOf(id, GHOSTS)),
]

/** Cases by `operation code`. */
export const provokingReports: Readonly<Record<string, Provoke>> = {
  ...Object.fromEntries(
    ['reports.get', 'reports.download', 'reports.download_format', 'reports.delete'].map(ofNone),
  ),
  'reports.generate rejected': ({ tenant }) =>
    tenant.ask('reports.generate', { body: { report_type: 'gdpr', framework: 'dora' } }),
  'jobs.cancel job_not_cancellable': ({ tenant, ids }) =>
    tenant.ask('jobs.cancel', { params: { job_id: ids.job_id } }),
  'jobs.cancel job_ended': async ({ tenant, ids }) => {
    const params = { job_id: ids.open_job_id }
    await tenant.ok('jobs.cancel', { params })
    return tenant.ask('jobs.cancel', { params })
  },
  'reports.list rejected': ({ tenant }) =>
    tenant.ask('reports.list', { query: { cursor: 'not-a-cursor' } }),
}
