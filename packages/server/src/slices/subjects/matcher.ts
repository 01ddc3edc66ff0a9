// Pure: parses what a request searches for, and matches memories, decisions and other texts.

import type { FindGroup, JsonObject, SubjectFind } from '@custos/contract'
import { canonicalize, type JsonObject as ProofJson } from '@custos/proof'
import { findOccurrences, foldText, textsIn, toNfc } from '../decisions/index.ts'

/** Matches if one of the groups of `find` matches. */
export interface Matcher {
  /** Includes the namespace, which is removed with its memories and matches like their texts. */
  ofFact(content: string, metadata: JsonObject, namespace?: string | null): boolean
  /** Matches all texts of a decision or record; `null` if `find` has nothing to search them for. */
  readonly ofTexts:
    | ((searched: { texts: readonly string[]; session_id: string | null }) => boolean)
    | null
}

/** A shorter text must match a whole word. */
const WORD_CHARS = 4
/** Shorter texts do not identify anybody. */
const TEXT_CHARS_MIN = 2

const foldFunction = ({ match = 'ignore_case' }: FindGroup): ((text: string) => string) =>
  match === 'ignore_case' ? (text) => foldText(text).text : toNfc

/** Returns no groups without `find`. */
const groupsOf = (find: SubjectFind | undefined): readonly FindGroup[] =>
  Array.isArray(find) ? find : find === undefined ? [] : [find]

const lengthOf = (text: string): number => [...text].length

/** A message to the caller on why there is nothing to search for, or null if there is. */
export function explainEmptyFind(find: SubjectFind | undefined): string | null {
  for (const group of groupsOf(find)) {
    const fault = explainEmptyGroup(group)
    if (fault !== null) return fault
  }
  return null
}

function explainEmptyGroup({ text, session_id, metadata = {} }: FindGroup): string | null {
  if (text === undefined && session_id === undefined && Object.keys(metadata).length === 0)
    return 'find names neither a text, nor a session, nor an entry of metadata'
  if (text !== undefined && lengthOf(toNfc(text).trim()) < TEXT_CHARS_MIN)
    return 'find.text has fewer than two characters beside blanks'
  return null
}

/**
 * The canonical text of a search, for its label. Ignores the order of keys and groups and the
 * Unicode normal form. A search without `find` is for a namespace.
 */
export function canonicalFind(find: SubjectFind | undefined, namespace: string | null): string {
  if (find === undefined) return canonicalize({ namespace })
  const groups = groupsOf(find).map((group) => canonicalize(canonicalGroup(group)))
  return groups.length === 1 ? (groups[0] ?? '') : `[${groups.sort().join(',')}]`
}

function canonicalGroup(group: FindGroup): ProofJson {
  const { text, session_id, metadata = {}, match = 'ignore_case' } = group
  return {
    match,
    metadata,
    ...(text === undefined ? {} : { text: foldFunction(group)(toNfc(text).trim()) }),
    ...(session_id === undefined ? {} : { session_id }),
  }
}

export function buildMatcher(find: SubjectFind | undefined): Matcher {
  const groups = groupsOf(find).map(buildGroup)
  const ofTexts = groups.flatMap((group) => group.ofTexts ?? [])
  if (find === undefined) return { ofFact: () => true, ofTexts: () => true }
  return {
    ofFact: (content, metadata, namespace) =>
      groups.some((group) => group.ofFact(content, metadata, namespace)),
    ofTexts: ofTexts.length === 0 ? null : (searched) => ofTexts.some((fits) => fits(searched)),
  }
}

function buildGroup(group: FindGroup): Matcher {
  const folded = foldFunction(group)
  const { text, session_id, metadata = {} } = group
  const wanted = text === undefined ? null : folded(toNfc(text).trim())
  const entries = Object.entries(metadata)
  return {
    ofFact: (content, of, namespace) =>
      entries.every(([key, value]) => Object.hasOwn(of, key) && of[key] === value) &&
      (session_id === undefined || of['session_id'] === session_id) &&
      (wanted === null ||
        [content, namespace ?? '', ...textsIn(of)].some((one) =>
          containsText(folded(one), wanted),
        )),
    ofTexts: buildTextsMatcher(group, wanted, folded),
  }
}

/**
 * Texts match if they contain everything of the group: the text anywhere, metadata values as whole
 * words, the session exactly. Booleans are not searched for. A group with nothing else, or only
 * with short numbers, searches nothing.
 */
function buildTextsMatcher(
  { session_id, metadata = {} }: FindGroup,
  wanted: string | null,
  folded: (text: string) => string,
): Matcher['ofTexts'] {
  const words = Object.values(metadata).flatMap((value) => {
    const word = typeof value === 'boolean' ? '' : folded(toNfc(String(value)).trim())
    return word === '' ? [] : [word]
  })
  if (wanted === null && session_id === undefined && !words.some(isDistinct)) return null
  return ({ texts, session_id: session }) => {
    if (session_id !== undefined && session !== session_id) return false
    const all = texts.map(folded)
    return (
      (wanted === null || all.some((text) => containsText(text, wanted))) &&
      words.every((word) => all.some((text) => containsWord(text, word)))
    )
  }
}

const LETTER = /\p{L}/u

/** Whether a word can identify a person: two letters can be a name, two digits cannot. */
const isDistinct = (word: string): boolean =>
  lengthOf(word) >= WORD_CHARS || (lengthOf(word) >= TEXT_CHARS_MIN && LETTER.test(word))

const containsText = (text: string, wanted: string): boolean =>
  lengthOf(wanted) < WORD_CHARS
    ? containsWord(text, wanted)
    : !findOccurrences(text, wanted).next().done

const WORD = /[\p{L}\p{N}\p{M}_]/u
/** Scripts without spaces between words: each character may begin or end a word. */
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u

const joins = (outside: string, inside: string): boolean =>
  WORD.test(outside) && WORD.test(inside) && !UNSPACED.test(inside)

function containsWord(text: string, word: string): boolean {
  for (const at of findOccurrences(text, word)) {
    const begins = !joins(characterBefore(text, at), characterAt(word, 0))
    const end = at + word.length
    const ends = !joins(characterAt(text, end), characterBefore(word, word.length))
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
