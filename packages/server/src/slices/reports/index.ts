// The face of reports.

import type { reports } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { generate, REPORT_TRAITS, remove, reportMaker } from './generate.ts'
import { REPORT_GENERATE } from './order.ts'
import { download, downloadFormat, frameworks, get, list, stats } from './reads.ts'

export { reportTextSource } from './sealed-report.ts'
export const reportsHandlers = {
  stats,
  frameworks,
  generate,
  list,
  get,
  download,
  download_format: downloadFormat,
  delete: remove,
} satisfies HandlersOf<typeof reports>

/** Before the jobs are started. */
export function registerReportJobs(kernel: Kernel): void {
  kernel.jobs.register(REPORT_GENERATE, reportMaker(kernel), REPORT_TRAITS)
}
