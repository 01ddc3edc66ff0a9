// The clock and the random names of a run; workloads use neither.

import { randomBytes } from 'node:crypto'

/** RFC 3339 in UTC with six fractional digits, the last three unknown. */
export const now = (): string => new Date().toISOString().replace('Z', '000+00:00')

/** A new, unique name of a store. */
export const storeName = (): string => `conformance-${randomBytes(6).toString('hex')}`
