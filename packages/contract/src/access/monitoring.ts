// Probes for orchestrators, which are public and reveal no tenant, and statistics for callers.

import Type, { type Static } from 'typebox'
import { about, boolean, integer, Nullable, text, time } from '../core/common.ts'
import { operation } from '../core/operation.ts'
import { Usage } from './tenants.ts'

const probe = { method: 'GET', access: 'public', status: 200, refuses: [] } as const
const CheckState = Type.Enum(['ok', 'failing'], {
  title: 'CheckState',
  description: 'Whether a part of the service works',
})

const StorageState = Type.Enum(['ok', 'full', 'failing'], {
  title: 'StorageState',
  description: 'Whether a row can be written and read back; `full`: no space is left',
})
const ClockState = Type.Enum(['ok', 'ahead'], {
  title: 'ClockState',
  description: '`ahead`: the newest time used lies after the clock of this machine',
})
const ClockAhead = Type.Object(
  {
    seconds: integer('Seconds by which the newest time used lies after the clock'),
    advice: text('What the operator does about it'),
  },
  { title: 'ClockAhead', description: 'How far the clock is behind the audit log' },
)

const Ok = Type.Literal('ok', { description: 'Always `ok`' })
const version = text('Version of the service')
const startedAt = time('When this process started')

export const platform = {
  health: operation({
    ...probe,
    id: 'platform.health',
    path: '/health',
    summary: 'Reports that the service answers',
    description: 'Use it for simple availability checks. It checks only that the process answers.',
    reply: Type.Object({ status: Ok, version }),
  }),
  healthz: operation({
    ...probe,
    id: 'platform.healthz',
    path: '/healthz',
    summary: 'Reports liveness and uptime',
    description: 'Use it as the liveness probe of an orchestrator: restart on failure.',
    reply: Type.Object({
      status: Ok,
      uptime_seconds: Type.Number(),
      started_at: startedAt,
      version,
    }),
  }),
  readyz: operation({
    ...probe,
    id: 'platform.readyz',
    path: '/readyz',
    summary: 'Reports readiness, with the state of each part',
    description:
      'Use it as the readiness probe of an orchestrator. It writes a row and reads it back, at ' +
      'most once a second. While a check fails the status is 503, with the same `checks`: ' +
      '`storage_full` when the disk is full, otherwise `unavailable`. A clock that is behind the ' +
      'times in the audit log is reported and fails nothing.',
    reply: Type.Object({
      status: Ok,
      checks: Type.Object(
        {
          database: CheckState,
          storage: StorageState,
          keyring: CheckState,
          log: CheckState,
          clock: ClockState,
        },
        {
          description: 'State of the database, its disk, the keyring, the audit log and the clock',
        },
      ),
      clock_ahead: about(Nullable(ClockAhead), 'Null while `checks.clock` is `ok`'),
      uptime_seconds: Type.Number(),
    }),
  }),
} as const

/** Null for a key limited to some stores: the number belongs to the tenant as a whole. */
const WholeTenant = Nullable

const Stats = Type.Object({
  status: Ok,
  version,
  uptime_seconds: Type.Number(),
  started_at: startedAt,
  tenant_id: Nullable(text('Id of the tenant; null for an operator, who sees all tenants')),
  stores: Type.Object(
    { active: integer('Stores that are not being deleted') },
    { description: 'Stores the caller may use' },
  ),
  memories: integer('Memories in those stores, superseded ones included'),
  decisions: integer('Decisions on record'),
  certificates: WholeTenant(integer('Erasure certificates')),
  log_size: WholeTenant(integer('Entries of the audit log')),
  usage_this_month: WholeTenant(Usage),
  metrics: Type.Object(
    {
      available: boolean('Always true'),
      memory_operations: WholeTenant(integer('Memory operations in this calendar month')),
      decisions_logged: integer('Same as `decisions`'),
      erasure_certificates: WholeTenant(integer('Same as `certificates`')),
    },
    { description: 'The same numbers under the names that dashboards read' },
  ),
  tenants: Type.Optional(integer('Number of tenants; operators only')),
  process: Type.Optional(
    Type.Object(
      {
        rss_bytes: integer('Resident memory of the process in bytes'),
        heap_used_bytes: integer('Used JavaScript heap in bytes'),
        engine: text('Database engine'),
        commits: integer('Database commits since the process started'),
        units: integer('Units of work since the process started'),
        queued: integer('Units of work that wait for the writer'),
      },
      { description: 'Numbers of this process; operators only' },
    ),
  ),
})
export type Stats = Static<typeof Stats>

export const monitoring = {
  stats: operation({
    id: 'monitoring.stats',
    method: 'GET',
    path: '/v1/monitoring/stats',
    summary: 'Returns counts for the calling tenant, or for all tenants to an operator',
    description:
      'Use it to feed a dashboard. A key limited to some stores sees only those, and null where ' +
      'a number belongs to the tenant as a whole.',
    access: 'either',
    status: 200,
    reply: Stats,
    refuses: [],
  }),
} as const
