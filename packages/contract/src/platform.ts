// Probes: public, and therefore silent about who and how much is stored.

import Type from 'typebox'
import { Timestamp } from './common.ts'
import { operation } from './operation.ts'

const probe = { method: 'GET', access: 'public', status: 200, refuses: [] } as const
const CheckState = Type.Enum(['ok', 'failing'])

export const platform = {
  health: operation({
    ...probe,
    id: 'platform.health',
    path: '/health',
    summary: 'Whether the service answers',
    reply: Type.Object({ status: Type.Literal('ok'), version: Type.String() }),
  }),
  healthz: operation({
    ...probe,
    id: 'platform.healthz',
    path: '/healthz',
    summary: 'Liveness and uptime',
    reply: Type.Object({
      status: Type.Literal('ok'),
      uptime_seconds: Type.Number(),
      started_at: Timestamp,
      version: Type.String(),
    }),
  }),
  readyz: operation({
    ...probe,
    id: 'platform.readyz',
    path: '/readyz',
    summary: 'Readiness: 503 with the same `checks` when one of them is failing',
    reply: Type.Object({
      status: Type.Literal('ok'),
      checks: Type.Object({ database: CheckState, keyring: CheckState, log: CheckState }),
      uptime_seconds: Type.Number(),
    }),
  }),
} as const
