// How people type in chats: typos, missing apostrophes and punctuation, lower case, abbreviations.

import { below, type Random } from '../random.ts'
import { ABBREVIATIONS } from './chats-vocabulary.ts'

/** Shares from 0 to 1: of words with a typo, and of messages for the other habits. */
export interface TypingStyle {
  readonly typos: number
  readonly apostrophes: number
  readonly lower_case: number
  readonly punctuation: number
  readonly abbreviations: number
}

/** Each person has habits of their own; `typos` is the mean share. */
export function makeStyle(random: Random, typos: number): TypingStyle {
  return {
    typos: typos * (0.4 + 1.2 * random()),
    apostrophes: random(),
    lower_case: 0.3 + 0.7 * random(),
    punctuation: 0.3 + 0.7 * random(),
    abbreviations: 0.7 * random(),
  }
}

/** Draws the same numbers whatever the shares are, so that only the typing differs. */
export function typeMessage(random: Random, text: string, style: TypingStyle): string {
  const happens = (share: number): boolean => random() < share
  let typed = text
  if (happens(style.abbreviations)) typed = abbreviate(typed)
  if (happens(style.apostrophes)) typed = typed.replaceAll("'", '')
  if (happens(style.punctuation))
    typed = typed.replaceAll(/[.!¡¿](?=\s|$|\p{L})|,(?= )/gu, '').replace(/^[¡¿]/u, '')
  if (happens(style.lower_case)) typed = typed.toLowerCase()
  return typed.replaceAll(/\p{L}{4,}/gu, (word) => {
    const [chance, kind, at] = [random(), below(random, 3), 1 + below(random, word.length - 2)]
    return chance < style.typos ? mistype(word, kind, at) : word
  })
}

/** Replaces whole words; the case of the long form does not matter. */
function abbreviate(text: string): string {
  return ABBREVIATIONS.reduce(
    (rest, [long, short]) => rest.replaceAll(new RegExp(`\\b${long}\\b`, 'gi'), short),
    text,
  )
}

/** Swaps two letters, omits one or doubles one; the first letter stays. */
function mistype(word: string, kind: number, at: number): string {
  const [before, letter, next] = [word.slice(0, at), word.charAt(at), word.charAt(at + 1)]
  const after = word.slice(at + 1)
  if (kind === 0) return letter === next ? before + after : before + next + letter + after.slice(1)
  return kind === 1 ? before + after : before + letter + letter + after
}
