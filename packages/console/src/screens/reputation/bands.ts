// Shared by the reputation screens: the dimension in the address, and bands.

import { useUrlState } from '../../api/url-state.ts'

const DIMENSION = 'receivables'

export const TIER_TONES = {
  gold: 'good',
  silver: 'good',
  bronze: 'warn',
  unproven: 'plain',
} as const

/** The dimension in the address. */
export const useDimension = (): string => useUrlState('dimension')[0] || DIMENSION
