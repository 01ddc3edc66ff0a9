// Long work in progress, for example the deletion of a store.

import Type from 'typebox'
import { Nullable, Timestamp } from './common.ts'
import { operation } from './operation.ts'

export const Job = Type.Object({
  job_id: Type.String(),
  kind: Type.String(),
  state: Type.Enum(['queued', 'running', 'done', 'failed']),
  progress: Type.Object({ done: Type.Integer(), total: Type.Integer() }),
  attempts: Type.Integer(),
  error: Nullable(Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
})

export const jobs = {
  get: operation({
    id: 'jobs.get',
    method: 'GET',
    path: '/v1/jobs/{job_id}',
    summary: 'State and progress of a job',
    access: 'tenant',
    scope: 'memory:read',
    params: Type.Object({ job_id: Type.String({ pattern: '^[0-9a-f]{24}$' }) }),
    status: 200,
    reply: Job,
    refuses: ['job_not_found'],
  }),
} as const
