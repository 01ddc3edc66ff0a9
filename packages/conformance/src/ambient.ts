// The clock and the random store names of a run. Workloads use neither: they are seeded.

import { randomBytes } from 'node:crypto'

/** RFC 3339 in UTC with six fractional digits. The last three are 0: the clock has milliseconds. */
export const now = (): string => new Date().toISOString().replace('Z', '000+00:00')

/** A new, unique name of a store. */
export const storeName = (): string => `conformance-${randomBytes(6).toString('hex')}`
