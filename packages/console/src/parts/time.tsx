// Times in UTC, with the reader's own zone on hover.

import { localTime, nowMs, parseTime } from '../ambient.ts'

const STEPS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const

/** The distance from now, such as `3 h ago` or `in 2 d`. */
export function relativeTime(ms: number, now: number = nowMs()): string {
  const distance = Math.abs(now - ms)
  const [size, unit] = STEPS.find(([step]) => distance >= step) ?? [1_000, 's']
  const text = `${Math.floor(distance / size)} ${unit}`
  return now >= ms ? `${text} ago` : `in ${text}`
}

export function Time(props: {
  readonly value: string | null | undefined
  /** The text to show if there is no time. */
  readonly none?: string
  readonly relative?: boolean
}) {
  const { value, none = '–', relative } = props
  const ms = value ? parseTime(value) : null
  if (!value || ms === null) return <>{value || none}</>
  const utc = `${value.slice(0, 10)} ${value.slice(11, 19)}`
  return (
    <time dateTime={value} title={`${value}\n${localTime(ms)}`}>
      {relative ? relativeTime(ms) : utc}
    </time>
  )
}
