// The face of jobs, and of PDFs made in threads; the queue and its worker are in the platform.

import type { jobs } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { cancel, get } from './reads.ts'

export { printPdf } from './print-pdf.ts'
export const jobsHandlers = { get, cancel } satisfies HandlersOf<typeof jobs>
