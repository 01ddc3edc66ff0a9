// When this process started and how long it has run.

import { formatTime } from '../../platform/clock.ts'

/** Seconds with one decimal. */
export const uptimeSeconds = (): number => Math.floor(performance.now() / 100) / 10

export const startedAt = (): string => formatTime(Math.floor(performance.timeOrigin * 1000))
