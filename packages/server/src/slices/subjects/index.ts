// Requests of data subjects: handlers, and the job of an erasure.

import type { subjects } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { access } from './access.ts'
import { erase } from './erase.ts'
import { SUBJECT_ERASE, subjectEraser } from './erase-job.ts'
import { extend, get, list, manifest } from './requests.ts'

export { keptLabelSource } from './kept-labels.ts'

export const subjectsHandlers = {
  erase,
  access,
  list,
  get,
  extend,
  manifest,
} satisfies HandlersOf<typeof subjects>

/** Before the worker starts: it resumes an erasure that the last stop interrupted. */
export function registerSubjectJobs(kernel: Kernel): void {
  kernel.jobs.register(SUBJECT_ERASE, subjectEraser(kernel))
}
