// Normalises names, to compare whether two names belong to the same person.

/** Invisible code points, and marks that do not change how a letter looks. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]/gu

/**
 * The name in Unicode NFKC, in lower case, with single spaces and without invisible characters.
 * Look-alike letters of different scripts stay different. Empty if no character is visible.
 */
export function foldName(name: string): string {
  const seen = name.normalize('NFKC').replace(UNSEEN, '')
  // Upper case first, so that ß and SS become equal.
  return seen.toUpperCase().toLowerCase().normalize('NFKC').replace(/\s+/gu, ' ').trim()
}
