// The face of data subjects' requests: handlers, and the job behind an erasure.

import type { subjects } from '@custos/contract'
import type { HandlersOf } from '../../platform/call.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { access } from './access.ts'
import { erase } from './erase.ts'
import { SUBJECT_ERASE, subjectEraser } from './erase-job.ts'
import { extend, get, list, manifest } from './requests.ts'

export const subjectsHandlers = {
  erase,
  access,
  list,
  get,
  extend,
  manifest,
} satisfies HandlersOf<typeof subjects>

/** Before the worker starts: an erasure cut off by the last stop goes on. */
export function registerSubjectJobs(kernel: Kernel): void {
  kernel.jobs.register(SUBJECT_ERASE, subjectEraser(kernel))
}
