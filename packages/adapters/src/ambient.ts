// Randomness and dates, as frameworks want them.

/** 128 random bits in hexadecimal. */
export const newId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')

/** @param time ISO 8601 */
export const dateOf = (time: string | Date): Date => new Date(time)

export const now = (): Date => new Date()

/** The present, or one millisecond after a time that is not before it. */
export const laterThan = (time: Date): Date => {
  const present = new Date()
  return present > time ? present : new Date(time.getTime() + 1)
}
