// What both parts of the reputation screen need: the dimension of the address, and bands.

import { useUrlState } from '../../api/url-state.ts'

const DIMENSION = 'receivables'

export const TIER_TONES = {
  gold: 'good',
  silver: 'good',
  bronze: 'warn',
  unproven: 'plain',
} as const

/** The dimension that the address names. */
export const useDimension = (): string => useUrlState('dimension')[0] || DIMENSION
