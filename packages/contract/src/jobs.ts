// Long work in progress: the deletion of a store, a report over a long log.

import Type from 'typebox'
import { Hex16, Nullable, Timestamp } from './common.ts'
import { operation } from './operation.ts'

export const JOB_STATES = ['queued', 'running', 'done', 'failed', 'cancelled'] as const

export const Job = Type.Object({
  job_id: Type.String(),
  kind: Type.String(),
  state: Type.Enum(JOB_STATES),
  /** In what the kind counts: memories of a store, entries of the log. `total` is 0 until known. */
  progress: Type.Object({ done: Type.Integer(), total: Type.Integer() }),
  attempts: Type.Integer(),
  error: Nullable(Type.String()),
  /** `DELETE /v1/jobs/{job_id}` ends it while it is queued or running. */
  cancellable: Type.Boolean(),
  /** What it has made, once it is done: null before, and for kinds that make nothing. */
  result: Nullable(Type.Object({ report_id: Type.Optional(Hex16) })),
  created_at: Timestamp,
  updated_at: Timestamp,
})

const params = Type.Object({ job_id: Type.String({ pattern: '^[0-9a-f]{24}$' }) })
const path = '/v1/jobs/{job_id}'

export const jobs = {
  get: operation({
    id: 'jobs.get',
    method: 'GET',
    path,
    summary: 'State and progress of a job',
    description:
      'Any key of the tenant will do: a job says its kind, how far it is and the ids of what it ' +
      'made, and whoever starts one may have no other scope.',
    access: 'tenant',
    params,
    status: 200,
    reply: Job,
    refuses: ['job_not_found'],
  }),
  cancel: operation({
    id: 'jobs.cancel',
    method: 'DELETE',
    path,
    summary: 'Ends a job that is queued or running; nothing of its work remains',
    description:
      'For reports (`report.generate`), with the scope that starts one and a key of all stores. ' +
      'The state is `cancelled` when this answers; a process that is at it stops within about a ' +
      'second. Erasures are never cancelled: what was begun there has to be finished.',
    access: 'tenant',
    scope: 'compliance:admin',
    params,
    status: 200,
    reply: Job,
    refuses: ['job_not_found', 'job_not_cancellable', 'job_ended'],
  }),
} as const
