// The face of the monitoring slice.

import type { monitoring as contract } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { stats } from './stats.ts'

export { renderMetrics } from './metrics.ts'
export { platformHandlers } from './probes.ts'
export { startedAt, uptimeSeconds } from './stats.ts'
export const monitoringHandlers: HandlersOf<typeof contract> = { stats }
