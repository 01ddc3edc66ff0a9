// The only module that reads the browser's clock, storage and location.

/** The preferences in local storage. A browser may refuse to store them. */
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

/** The address of the page. */
export const address = {
  path: (): string => location.pathname,
  parameter: (name: string): string | null => new URLSearchParams(location.search).get(name),
}

export const nowMs = (): number => Date.now()

/** Milliseconds since 1970 of an RFC 3339 time; null for other text. */
export function parseTime(text: string): number | null {
  const ms = new Date(text).getTime()
  return Number.isNaN(ms) ? null : ms
}

/** A time in the form of the API, in UTC with milliseconds. */
export const formatTime = (ms: number): string => new Date(ms).toISOString()

/** The time in the zone and language of this browser. */
export const localTime = (ms: number): string =>
  new Date(ms).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' })
