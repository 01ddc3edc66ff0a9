// The only module that reads the platform's clock, randomness and timers, and detects a browser.

/** Milliseconds of a monotonic clock. */
export const nowMs = (): number => performance.now()

/** Parses a Retry-After header, in seconds or an HTTP date, to milliseconds; NaN for other text. */
export const readRetryAfter = (after: string): number =>
  /^\d+$/.test(after)
    ? Number(after) * 1_000
    : Math.max(0, Date.parse(new Date(after).toUTCString() === after ? after : '') - Date.now())

/** A random number in [0, 1), used to spread retries. */
export const jitter = (): number => Math.random()

/** Whether this is a browser. Browsers keep cookies, and stream request bodies over HTTP/2 only. */
export const isBrowser = (): boolean => 'location' in globalThis

/** 128 random bits in hexadecimal. `randomUUID` is not available on pages without https. */
export const newKey = (): string =>
  crypto
    .getRandomValues(new Uint8Array(16))
    .reduce((text, byte) => text + byte.toString(16).padStart(2, '0'), '')

/** Resolves after `ms`. Rejects with the reason of the signal as soon as it is aborted. */
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
