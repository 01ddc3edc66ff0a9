// Normalises names, to compare whether two of them are the same person's.

/** Invisible code points, and marks that do not change how a letter looks. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]/gu

/**
 * The name without invisible characters, in one case, with single spaces (Unicode NFKC). Look-alike
 * letters of different scripts stay different. Empty if the name has no visible character.
 */
export function foldName(name: string): string {
  const seen = name.normalize('NFKC').replace(UNSEEN, '')
  // Upper case first, so that ß and SS become equal.
  return seen.toUpperCase().toLowerCase().normalize('NFKC').replace(/\s+/gu, ' ').trim()
}
