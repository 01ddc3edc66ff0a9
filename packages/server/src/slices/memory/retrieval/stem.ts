// A light English stemmer: irregular forms, plurals, -ing, -ed, and what spelling swaps for them.

import { BASE_BY_FORM } from './irregular-forms.ts'

const ASCII_WORD = /^[a-z]{4,}$/
const VOWEL = /[aeiouy]/

/**
 * The common form of a lower-case word: `paintings` and `painted` become `paint`, `studies` and
 * `study` become `studi`, `went` becomes `go`. Other scripts and numbers stay as they are.
 */
export function stem(word: string): string {
  const base = BASE_BY_FORM.get(word) ?? word
  if (!ASCII_WORD.test(base)) return base
  return withoutFinalVowel(withoutTense(withoutPlural(base)))
}

function withoutPlural(word: string): string {
  if (!word.endsWith('s') || /(?:ss|us|is)$/.test(word)) return word
  if (word.endsWith('ies')) return word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1)
  return /(?:sse|she|che|xe|zze)s$/.test(word) ? word.slice(0, -2) : word.slice(0, -1)
}

function withoutTense(word: string): string {
  if (word.endsWith('ied') && word.length > 4) return `${word.slice(0, -3)}y`
  const root = rootBefore(word, 'ing') ?? (word.endsWith('eed') ? null : rootBefore(word, 'ed'))
  if (root === null) return word
  // `running` doubles its consonant, `missing` and `falling` do not.
  return /([b-df-hj-kmnp-rtv-y])\1$/.test(root) ? root.slice(0, -1) : root
}

/** What stands before the ending, when that is long enough and has a vowel to be a word. */
function rootBefore(word: string, ending: string): string | null {
  if (!word.endsWith(ending)) return null
  const root = word.slice(0, -ending.length)
  return root.length >= 3 && VOWEL.test(root) ? root : null
}

/** `move` and `moving`, `happy` and `happi(er)` meet; three letters are always left. */
function withoutFinalVowel(word: string): string {
  if (word.length < 4) return word
  if (word.endsWith('e')) return word.slice(0, -1)
  if (word.endsWith('y') && !VOWEL.test(word.at(-2) ?? '')) return `${word.slice(0, -1)}i`
  return word
}
