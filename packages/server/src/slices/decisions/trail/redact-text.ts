// Pure: finds a memory's content verbatim in another text and replaces it by the marker.

import { sortCombiningMarks } from '../../../platform/combining-marks.ts'

interface FoldedText {
  readonly text: string
  /** Original position of each position here; -1 inside a unit. `null` if all are the same. */
  readonly origin: readonly number[] | null
}

// A unit is what NFC may compose: a base with its marks, or Hangul jamo that form a syllable.
// Normalising changes nothing between units, so each maps back to exact original positions. The
// first group takes many ASCII units at once, each a character that no mark follows. It is bounded
// because the engine keeps a backtracking position for each.
const UNIT = new RegExp(
  [
    String.raw`([\0-\x7f]{1,256})(?!\p{M})`,
    String.raw`|(?:[\u1100-\u115f]+[\u1160-\u11a7]*[\u11a8-\u11ff]*`,
    String.raw`|[\uac00-\ud7a3][\u1160-\u11a7]*[\u11a8-\u11ff]*`,
    String.raw`|\P{M})\p{M}*|\p{M}+`,
  ].join(''),
  'gsu',
)
const ASCII = /^[\0-\x7f]*$/

/** Unicode NFC, in linear time for any text. */
export const toNfc = (text: string): string =>
  ASCII.test(text) ? text : sortCombiningMarks(text).normalize('NFC')

/** Folds a text to NFC without case. */
export function foldText(text: string): FoldedText {
  if (ASCII.test(text)) return { text: text.toLowerCase(), origin: null }
  const origin: number[] = []
  const known = new Map<string, string>()
  let folded = ''
  for (const { 0: unit, 1: plain, index } of text.matchAll(UNIT)) {
    const done = plain === undefined ? foldUnit(unit, known) : plain.toLowerCase()
    for (let i = 0; i < done.length; i += 1)
      origin.push(i === 0 || plain !== undefined ? index + i : -1)
    folded += done
  }
  origin.push(text.length)
  return { text: folded, origin }
}

function foldUnit(unit: string, known: Map<string, string>): string {
  const before = known.get(unit)
  if (before !== undefined) return before
  // Lower, upper, lower: letters with several small or capital forms end up equal.
  const folded = toNfc(unit).toLowerCase().toUpperCase().toLowerCase()
  known.set(unit, folded)
  return folded
}

/** A text that can be searched, such as any string. */
export type SearchableText = Pick<string, 'length' | 'charCodeAt' | 'indexOf'>

// The native search is used for this prefix: so short that even its worst case is linear.
const START_UNITS = 8

/**
 * Yields the positions of `pattern` in `text`, ascending, overlapping ones included. Takes time
 * proportional to both lengths for any content (Knuth, Morris and Pratt, 1977), as an attacker may
 * have written the texts. Reads nothing of a text that is shorter than `pattern`.
 */
export function* findOccurrences(text: SearchableText, pattern: string): Generator<number> {
  if (pattern === '' || pattern.length > text.length) return
  const start = pattern.slice(0, START_UNITS)
  let borders: Int32Array | undefined
  // The first `matched` units of the pattern end at `at`.
  let [at, matched] = [0, 0]
  for (;;) {
    if (matched === 0) {
      const found = text.indexOf(start, at)
      if (found === -1) return
      borders ??= computeBorders(pattern)
      at = found + start.length
      matched = start.length
    }
    while (matched < pattern.length && text.charCodeAt(at) === pattern.charCodeAt(matched)) {
      at += 1
      matched += 1
    }
    if (matched === pattern.length) yield at - matched
    else if (at === text.length) return
    matched = borders?.[matched] ?? 0
  }
}

/** For each prefix, by length: the length of its longest proper prefix that is also a suffix. */
function computeBorders(pattern: string): Int32Array {
  const borders = new Int32Array(pattern.length + 1)
  let matched = 0
  for (let at = 1; at < pattern.length; at += 1) {
    while (matched > 0 && pattern.charCodeAt(at) !== pattern.charCodeAt(matched))
      matched = borders[matched] ?? 0
    if (pattern.charCodeAt(at) === pattern.charCodeAt(matched)) matched += 1
    borders[at + 1] = matched
  }
  return borders
}

/** The text that replaces scrubbed text; always starts with `[REDACTED`. */
export const MARKER = '[REDACTED — GDPR Article 17]'

/** Shorter contents are replaced only as a whole field: `yes` is in many sentences. */
const CHARACTERS_MIN = 8

/** A text that still changes after this many passes was crafted; it is replaced as a whole. */
const PASSES_MAX = 16

export interface RedactedText {
  readonly text: string
  readonly count: number
}

/** A content prepared for searching many texts. */
interface PreparedContent {
  /** Composed, trimmed and folded. An empty text is never found. */
  readonly folded: string
  /** Too few characters to be searched for inside a text. */
  readonly isShort: boolean
}

/** Takes time linear in `content`: prepare it once for many texts. */
export function prepareContent(content: string): PreparedContent {
  const prepared = toNfc(content).trim()
  return { folded: foldText(prepared).text, isShort: [...prepared].length < CHARACTERS_MIN }
}

/**
 * Replaces occurrences of `content` in `text`. Both are compared in Unicode NFC without case, the
 * content trimmed; a match begins and ends at word borders, if the script has them. `count` is 0
 * exactly if the text is returned unchanged. Linear in both lengths for any content.
 */
export function redactText(text: string, content: string | PreparedContent): RedactedText {
  const prepared = typeof content === 'string' ? prepareContent(content) : content
  if (prepared.folded === '') return { text, count: 0 }
  const folded = foldText(text)
  if (text.trim() !== MARKER && foldedWhole(text, folded) === prepared.folded)
    return { text: MARKER, count: 1 }
  if (prepared.isShort) return { text, count: 0 }
  let done = replaceOnce(text, folded, prepared)
  let more = done.count
  for (let pass = 1; more > 0 && pass < PASSES_MAX; pass += 1) {
    const next = replaceOnce(done.text, foldText(done.text), prepared)
    more = next.count
    done = { text: next.text, count: done.count + more }
  }
  return more === 0 ? done : { text: MARKER, count: done.count + 1 }
}

/** Whether `redactText` would change the text; used to check for leftovers. */
export const occursInText = (text: string, content: string | PreparedContent): boolean =>
  redactText(text, content).count > 0

function foldedWhole(text: string, folded: FoldedText): string {
  const whole = toNfc(text)
  return whole === text ? folded.text.trim() : foldText(whole.trim()).text
}

function replaceOnce(
  text: string,
  { text: haystack, origin }: FoldedText,
  prepared: PreparedContent,
): RedactedText {
  const place = (at: number) => (origin === null ? at : (origin[at] ?? -1))
  let [out, kept, next, count] = ['', 0, 0, 0]
  for (const at of findOccurrences(haystack, prepared.folded)) {
    if (at < next) continue
    const [start, end] = [place(at), place(at + prepared.folded.length)]
    if (start === -1 || end === -1 || !isWhole(text, start, end)) continue
    out += text.slice(kept, start) + MARKER
    kept = end
    next = at + prepared.folded.length
    count += 1
  }
  return count === 0 ? { text, count } : { text: out + text.slice(kept), count }
}

function isWhole(text: string, start: number, end: number): boolean {
  return isBorder(text, start) && isBorder(text, end) && !isInMarker(text, start, end)
}

const WORD = /[\p{L}\p{N}\p{M}_]/u
// In scripts without spaces, or with endings attached to names, every position is a border.
const SCRIPTS = ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Thai', 'Lao', 'Khmer', 'Myanmar']
const BORDERLESS = new RegExp(
  `[${SCRIPTS.map((script) => String.raw`\p{Script=${script}}`).join('')}]`,
  'u',
)

function isBorder(text: string, at: number): boolean {
  if (at === 0 || at === text.length) return true
  const before = lastCharacter(text, at)
  const after = String.fromCodePoint(text.codePointAt(at) ?? 0)
  const joins = (character: string) => WORD.test(character) && !BORDERLESS.test(character)
  return !(joins(before) && joins(after))
}

function lastCharacter(text: string, end: number): string {
  const pair = end >= 2 ? text.codePointAt(end - 2) : undefined
  return pair !== undefined && pair > 0xffff ? String.fromCodePoint(pair) : text.charAt(end - 1)
}

// Prevents matches inside the marker of contents that equal words of the marker.
function isInMarker(text: string, start: number, end: number): boolean {
  // Only a marker that begins within its own length before the match can contain it.
  const first = Math.max(0, start - MARKER.length)
  const from = text.slice(first, start + MARKER.length).lastIndexOf(MARKER, start - first)
  return from !== -1 && end <= first + from + MARKER.length
}

/** Applies `redactText` to every text, number and key of a JSON value. */
export function redactJson(
  value: unknown,
  content: string | PreparedContent,
): { value: unknown; count: number } {
  const prepared = typeof content === 'string' ? prepareContent(content) : content
  if (typeof value === 'string') {
    const { text, count } = redactText(value, prepared)
    return { value: text, count }
  }
  if (typeof value === 'number') {
    const { text, count } = redactText(String(value), prepared)
    return count === 0 ? { value, count } : { value: text, count }
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => redactJson(item, prepared))
    return { value: items.map((item) => item.value), count: sum(items) }
  }
  if (typeof value !== 'object' || value === null) return { value, count: 0 }
  return redactObject(value, prepared)
}

function redactObject(value: object, prepared: PreparedContent): { value: unknown; count: number } {
  const redacted = new Map<string, unknown>()
  const copies = new Map<string, number>()
  let total = 0
  for (const [key, item] of Object.entries(value)) {
    const name = redactText(key, prepared)
    const inner = redactJson(item, prepared)
    total += name.count + inner.count
    // Two keys may have become equal; both values are kept.
    let free = name.text
    let copy = copies.get(name.text) ?? 2
    for (; redacted.has(free); copy += 1) free = `${name.text} (${copy})`
    copies.set(name.text, copy)
    redacted.set(free, inner.value)
  }
  return { value: Object.fromEntries(redacted), count: total }
}

const sum = (items: readonly { count: number }[]): number =>
  items.reduce((total, item) => total + item.count, 0)
