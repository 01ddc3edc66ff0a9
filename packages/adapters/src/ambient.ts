// Random ids and dates in the forms that frameworks need.

/** 128 random bits in hexadecimal. */
export const newId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')

/** @param time ISO 8601 */
export const dateOf = (time: string | Date): Date => new Date(time)

export const now = (): Date => new Date()

/** The current time, or `time` plus one millisecond if that is not in the past. */
export const laterThan = (time: Date): Date => {
  const present = new Date()
  return present > time ? present : new Date(time.getTime() + 1)
}
