// The only place that reads the clock, randomness and timers of the platform, and asks which it is.

/** Milliseconds on a clock that only goes forward. */
export const nowMs = (): number => performance.now()

/** Milliseconds of a Retry-After: seconds, or until a date as HTTP writes it; NaN for neither. */
export const readRetryAfter = (after: string): number =>
  /^\d+$/.test(after)
    ? Number(after) * 1_000
    : Math.max(0, Date.parse(new Date(after).toUTCString() === after ? after : '') - Date.now())

/** A number of [0, 1) that spreads retries. */
export const jitter = (): number => Math.random()

/** Browsers keep cookies, and send a stream as a body over HTTP/2 only. */
export const isBrowser = (): boolean => 'location' in globalThis

/** 128 random bits in hexadecimal; `randomUUID` is missing on pages without https. */
export const newKey = (): string =>
  crypto
    .getRandomValues(new Uint8Array(16))
    .reduce((text, byte) => text + byte.toString(16).padStart(2, '0'), '')

/** Resolves after `ms`; rejects with the reason of the signal as soon as that is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
