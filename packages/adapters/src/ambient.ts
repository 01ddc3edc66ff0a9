// Randomness and dates, as frameworks want them.

/** 128 random bits in hexadecimal. */
export const newId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')

/** @param time ISO 8601 */
export const dateOf = (time: string): Date => new Date(time)
