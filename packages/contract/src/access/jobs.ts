// Jobs: work that continues after the reply, such as deleting a store or generating a report.

import Type from 'typebox'
import { boolean, Hex12, Hex16, integer, Nullable, Timestamp, text } from '../core/common.ts'
import { operation } from '../core/operation.ts'

export const JOB_STATES = ['queued', 'running', 'done', 'failed', 'cancelled'] as const

export const Job = Type.Object(
  {
    job_id: Type.String(),
    kind: text('Kind of work, for example `report.generate`'),
    state: Type.Enum(JOB_STATES, { description: 'State of the job' }),
    progress: Type.Object(
      {
        done: integer('Units finished'),
        total: integer('Units in all; 0 until known'),
      },
      { description: 'Progress, in memories of a store or entries of the audit log' },
    ),
    attempts: integer('Attempts since the job last made progress'),
    error: Nullable(text('Why the last attempt failed')),
    cancellable: boolean('Whether `DELETE /v1/jobs/{job_id}` cancels it while queued or running'),
    result: Nullable(
      Type.Object(
        { report_id: Type.Optional(Hex16) },
        { description: 'What the job produced; null before it is done or if it produces nothing' },
      ),
    ),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'Job', description: 'Work that continues after the reply' },
)

const params = Type.Object({ job_id: Hex12 })
const path = '/v1/jobs/{job_id}'

export const jobs = {
  get: operation({
    id: 'jobs.get',
    method: 'GET',
    path,
    summary: 'Returns the state and progress of a job',
    description:
      'Poll it after an operation that answered 202. Any key of the tenant may read a job, ' +
      'whatever its scopes: the job holds only its kind, progress and ids of results.',
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
    summary: 'Cancels a queued or running job and discards its work',
    description:
      'Use it to stop a report (`report.generate`); the key must not be limited to stores. The ' +
      'state is `cancelled` in the reply, and the worker stops within about a second. Erasures ' +
      'cannot be cancelled.',
    access: 'tenant',
    scope: 'compliance:admin',
    params,
    status: 200,
    reply: Job,
    refuses: ['job_not_found', 'job_not_cancellable', 'job_ended'],
  }),
} as const
