// Pure: what a request searches for, and whether a memory or a decision matches.

import type { JsonObject, SubjectFind } from '@custos/contract'
import { canonicalize, type JsonObject as ProofJson } from '@custos/proof'
import { findOccurrences, foldText, textsIn, toNfc } from '../decisions/index.ts'

export interface Matcher {
  ofFact(content: string, metadata: JsonObject): boolean
  /** Over all texts of a decision; null: `find` has no word to search decisions for. */
  readonly ofDecision: ((texts: readonly string[]) => boolean) | null
}

/** A shorter value of metadata does not identify a person in a text. */
const DISTINCT_CHARS = 4

type FoldFunction = (text: string) => string

const foldFunction = ({ match = 'ignore_case' }: SubjectFind): FoldFunction =>
  match === 'ignore_case' ? (text) => foldText(text).text : toNfc

/** Why there is nothing to search for, as a message for the caller; null: there is something. */
export function explainEmptyFind({ text, metadata = {} }: SubjectFind): string | null {
  if (text === undefined && Object.keys(metadata).length === 0)
    return 'find names neither a text nor an entry of metadata'
  if (text !== undefined && [...toNfc(text).trim()].length < 2)
    return 'find.text has fewer than two characters beside blanks'
  return null
}

/** A canonical text of a search for its label: ignores key order and Unicode normal form. */
export function canonicalFind(find: SubjectFind): string {
  const { text, metadata = {}, match = 'ignore_case' } = find
  const wanted: ProofJson = {
    match,
    metadata,
    ...(text === undefined ? {} : { text: foldFunction(find)(toNfc(text).trim()) }),
  }
  return canonicalize(wanted)
}

export function buildMatcher(find: SubjectFind): Matcher {
  const folded = foldFunction(find)
  const { text, metadata = {} } = find
  const wanted = text === undefined ? null : folded(toNfc(text).trim())
  const entries = Object.entries(metadata)
  const holds = (texts: Iterable<string>) =>
    wanted === null || [...texts].some((text) => contains(folded(text), wanted))
  return {
    ofFact: (content, of) =>
      entries.every(([key, value]) => Object.hasOwn(of, key) && of[key] === value) &&
      holds([content, ...textsIn(of)]),
    ofDecision: buildDecisionMatcher(wanted, entries, folded),
  }
}

/**
 * A decision matches when it contains all of `find`: the text anywhere, values of metadata as whole
 * words. Booleans are not searched for; with nothing else, or only short values, decisions are not
 * searched.
 */
function buildDecisionMatcher(
  wanted: string | null,
  entries: readonly (readonly [string, string | number | boolean])[],
  folded: FoldFunction,
): Matcher['ofDecision'] {
  const words = entries.flatMap(([, value]) => {
    const word = typeof value === 'boolean' ? '' : folded(toNfc(String(value)).trim())
    return word === '' ? [] : [word]
  })
  if (wanted === null && !words.some((word) => [...word].length >= DISTINCT_CHARS)) return null
  return (texts) => {
    const all = texts.map(folded)
    return (
      (wanted === null || all.some((text) => contains(text, wanted))) &&
      words.every((word) => all.some((text) => containsWord(text, word)))
    )
  }
}

const contains = (text: string, wanted: string): boolean =>
  !findOccurrences(text, wanted).next().done

const WORD = /[\p{L}\p{N}\p{M}_]/u

function containsWord(text: string, word: string): boolean {
  for (const at of findOccurrences(text, word)) {
    const [before, after] = [characterBefore(text, at), characterAt(text, at + word.length)]
    const begins = before === '' || !WORD.test(before) || !WORD.test(characterAt(word, 0))
    const ends = after === '' || !WORD.test(after) || !WORD.test(characterBefore(word, word.length))
    if (begins && ends) return true
  }
  return false
}

const characterAt = (text: string, at: number): string =>
  at < text.length ? String.fromCodePoint(text.codePointAt(at) ?? 0) : ''

function characterBefore(text: string, at: number): string {
  if (at === 0) return ''
  const pair = at >= 2 ? text.codePointAt(at - 2) : undefined
  return pair !== undefined && pair > 0xffff ? String.fromCodePoint(pair) : text.charAt(at - 1)
}
