// The only place that reads the clock, the storage and the location of the browser.

/** Preferences: nothing else is kept in the browser. A browser may refuse to keep them. */
export const preferences = {
  get(name: string): string | null {
    try {
      return localStorage.getItem(`custos.${name}`)
    } catch {
      return null
    }
  },
  set(name: string, value: string): void {
    try {
      localStorage.setItem(`custos.${name}`, value)
    } catch {
      // The choice lasts until the page is closed.
    }
  },
}

/** Where the page is. */
export const address = {
  path: (): string => location.pathname,
  parameter: (name: string): string | null => new URLSearchParams(location.search).get(name),
}

export const nowMs = (): number => Date.now()

/** Milliseconds since 1970 of an RFC 3339 time; null if it is none. */
export function parseTime(text: string): number | null {
  const ms = new Date(text).getTime()
  return Number.isNaN(ms) ? null : ms
}

/** A time of the API's form, in UTC with milliseconds. */
export const formatTime = (ms: number): string => new Date(ms).toISOString()

/** The time as this browser's zone writes it. */
export const localTime = (ms: number): string =>
  new Date(ms).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' })
