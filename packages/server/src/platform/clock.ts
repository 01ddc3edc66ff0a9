// The one clock of a process: strictly increasing microseconds since the Unix epoch.

export interface Clock {
  /** Microseconds since 1970-01-01T00:00:00Z; every call returns more than the last. */
  now(): number
}

/** A clock that is set forward to the newest time in the data when the data is opened. */
export interface ProcessClock extends Clock {
  raise(us: number): void
}

/** Times outside this range do not fit 2^53 microseconds. */
export const TIME_MIN_US = Date.UTC(1700, 0, 1) * 1000
export const TIME_MAX_US = Date.UTC(2255, 0, 1) * 1000

/**
 * The system clock, made strictly increasing. It also never returns a time before `floor_us`, the
 * newest time that a previous run used.
 */
export function systemClock(floor_us = 0): ProcessClock {
  let last = floor_us
  return {
    now() {
      // The monotonic clock does not count the time that a machine was suspended, and does not
      // follow when its wall clock is set forward.
      const passed = Math.floor((performance.timeOrigin + performance.now()) * 1000)
      const wall = Math.max(passed, wallTime())
      last = wall > last ? wall : last + 1
      return last
    },
    raise(us) {
      if (us > last) last = us
    },
  }
}

/** Microseconds of the machine's wall clock, which may go back. */
export const wallTime = (): number => Date.now() * 1_000

/** A difference up to this between the clocks of one service is not reported. */
export const CLOCK_TOLERANCE_US = 5_000_000

/** Whole seconds a time lies ahead of the machine's clock; 0 within the tolerance. */
export function secondsAhead(us: number): number {
  const ahead_us = us - wallTime()
  return ahead_us > CLOCK_TOLERANCE_US ? Math.round(ahead_us / 1_000_000) : 0
}

/** Advice for an operator whose log has a newest time ahead of the machine's clock. */
export const CLOCK_ADVICE =
  'Set the clock of this machine (NTP). If it is right, it was ahead when the newest entries ' +
  'were written: new entries are dated just after them until it has caught up.'

/** RFC 3339 in UTC with exactly six fractional digits and `Z`. */
export function formatTime(us: number): string {
  const day = Math.floor(us / DAY_US)
  const date = day === lastDay ? lastDate : dateText(day)
  const seconds = Math.floor((us - day * DAY_US) / 1_000_000)
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const time = `${two(hours)}:${two(minutes - hours * 60)}:${two(seconds - minutes * 60)}`
  const fraction = us - day * DAY_US - seconds * 1_000_000
  return `${date}T${time}.${String(fraction).padStart(6, '0')}Z`
}

export const DAY_US = 86_400_000_000

const two = (value: number): string => (value < 10 ? `0${value}` : String(value))

// Most consecutive times are of one day, and creating a Date costs more than the rest.
let lastDay = Number.NaN
let lastDate = ''

function dateText(day: number): string {
  lastDate = new Date(day * (DAY_US / 1_000)).toISOString().slice(0, 10)
  lastDay = day
  return lastDate
}

const RFC3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})$/

/**
 * Microseconds of an RFC 3339 time. Returns null for a time without an offset, an impossible date,
 * or a time outside 1700..2254. Digits beyond the sixth are cut off.
 */
export function parseTime(text: string): number | null {
  const match = RFC3339.exec(text)
  if (!match) return null
  const [, year, month, day, hour, minute, second, fraction, zone] = match
  return toMicroseconds([year, month, day, hour, minute, second].map(Number), fraction, zone)
}

const ISO_DATE = /^(\d{4})(-?)(\d\d)\2(\d\d)(?:[Tt ](.+))?$/
const ISO_OFFSET = /[Zz]$|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?$/
const ISO_TIME = /^(\d\d)(?:(:?)(\d\d)(?:\2(\d\d)(?:[.,](\d+))?)?)?$/

/**
 * Parses a calendar date of ISO 8601, alone or with a time of day, in the extended or the basic
 * format; a time without an offset is in UTC. Returns null for anything else, including week and
 * ordinal dates, leap seconds, the hour 24, dates that do not exist, and times outside 1700..2254.
 * `is_day` is true for a date alone: it means midnight, and as the end of a period the whole day.
 */
export function parseDateOrTime(
  text: string,
): { readonly us: number; readonly is_day: boolean } | null {
  const date = ISO_DATE.exec(text)
  if (!date) return null
  const [, year, , month, day, rest] = date
  const [zone] = ISO_OFFSET.exec(rest ?? '') ?? []
  const time = rest === undefined ? [] : ISO_TIME.exec(rest.replace(ISO_OFFSET, ''))
  if (!time) return null
  const [, hour = '0', , minute = '0', second = '0', fraction] = time
  const parts = [year, month, day, hour, minute, second].map(Number)
  const us = toMicroseconds(parts, fraction, zone)
  return us === null ? null : { us, is_day: rest === undefined }
}

function toMicroseconds(parts: number[], fraction = '', zone = 'Z'): number | null {
  const ms = dateMs(parts)
  if (ms === null) return null
  const us = ms * 1000 + Number(fraction.slice(0, 6).padEnd(6, '0')) - offsetUs(zone)
  return us >= TIME_MIN_US && us < TIME_MAX_US ? us : null
}

function dateMs(parts: number[]): number | null {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
  if (hour > 23 || minute > 59 || second > 59) return null
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  date.setUTCHours(hour, minute, second)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null
  return date.getTime()
}

function offsetUs(zone: string): number {
  if (zone === 'Z' || zone === 'z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(3).replace(':', ''))
  const us = (hours * 60 + minutes) * 60_000_000
  return zone.startsWith('-') ? -us : us
}
