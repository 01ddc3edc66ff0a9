// The face of jobs; the queue and its worker are part of the platform.

import type { jobs } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { cancel, get } from './reads.ts'

export const jobsHandlers = { get, cancel } satisfies HandlersOf<typeof jobs>
