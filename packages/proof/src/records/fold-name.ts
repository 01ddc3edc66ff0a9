// Names as they read, for telling whether two of them are one person's.

/** Code points that are not seen, and marks that change nothing of how a letter reads. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]/gu

/**
 * A name without what is not seen, in one case, with single spaces (Unicode NFKC). Letters of
 * different scripts that look alike stay different. Empty: nothing can be read.
 */
export function foldName(name: string): string {
  const seen = name.normalize('NFKC').replace(UNSEEN, '')
  // Upper case first: ß and SS are one.
  return seen.toUpperCase().toLowerCase().normalize('NFKC').replace(/\s+/gu, ' ').trim()
}
