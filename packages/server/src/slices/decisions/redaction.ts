// Pure: finds a fact's content word for word in another text and replaces it by the marker.

import { composed, type Folded, fold } from './folding.ts'
import { occurrences } from './occurrences.ts'

/** What a scrubbed text reads as; always starts with `[REDACTED`. */
export const MARKER = '[REDACTED — GDPR Article 17]'

/** Shorter contents are replaced only where they are a whole field: `yes` is in many sentences. */
const CHARACTERS_MIN = 8

/** A text that has not settled by then was made not to: it is replaced as a whole. */
const PASSES_MAX = 16

export interface Redacted {
  readonly text: string
  readonly count: number
}

/** A content made ready to be looked for in many texts. */
export interface Wanted {
  /** Composed, trimmed and folded; empty: never found. */
  readonly folded: string
  /** Too few characters to be looked for inside a text. */
  readonly isShort: boolean
}

/** Linear in `content`: where there are many texts, done once for all of them. */
export function wantedOf(content: string): Wanted {
  const wanted = composed(content).trim()
  return { folded: fold(wanted).text, isShort: [...wanted].length < CHARACTERS_MIN }
}

/**
 * Replaces occurrences of `content` in `text`. Compared in Unicode NFC, without regard to case,
 * the content trimmed; a match begins and ends on word borders, where the script has them.
 * `count` is 0 exactly when the text is returned unchanged. Linear in both, whatever they say.
 */
export function redact(text: string, content: string | Wanted): Redacted {
  const wanted = typeof content === 'string' ? wantedOf(content) : content
  if (wanted.folded === '') return { text, count: 0 }
  const folded = fold(text)
  if (text.trim() !== MARKER && foldedWhole(text, folded) === wanted.folded)
    return { text: MARKER, count: 1 }
  if (wanted.isShort) return { text, count: 0 }
  let done = replaceOnce(text, folded, wanted)
  let more = done.count
  for (let pass = 1; more > 0 && pass < PASSES_MAX; pass += 1) {
    const next = replaceOnce(done.text, fold(done.text), wanted)
    more = next.count
    done = { text: next.text, count: done.count + more }
  }
  return more === 0 ? done : { text: MARKER, count: done.count + 1 }
}

/** Whether `redact` would change the text: what a check for leftovers asks. */
export const occursIn = (text: string, content: string | Wanted): boolean =>
  redact(text, content).count > 0

function foldedWhole(text: string, folded: Folded): string {
  const whole = composed(text)
  return whole === text ? folded.text.trim() : fold(whole.trim()).text
}

function replaceOnce(text: string, { text: haystack, origin }: Folded, wanted: Wanted): Redacted {
  const place = (at: number) => (origin === null ? at : (origin[at] ?? -1))
  let [out, kept, next, count] = ['', 0, 0, 0]
  for (const at of occurrences(haystack, wanted.folded)) {
    if (at < next) continue
    const [start, end] = [place(at), place(at + wanted.folded.length)]
    if (start === -1 || end === -1 || !isWhole(text, start, end)) continue
    out += text.slice(kept, start) + MARKER
    kept = end
    next = at + wanted.folded.length
    count += 1
  }
  return count === 0 ? { text, count } : { text: out + text.slice(kept), count }
}

function isWhole(text: string, start: number, end: number): boolean {
  return isBorder(text, start) && isBorder(text, end) && !isInMarker(text, start, end)
}

const WORD = /[\p{L}\p{N}\p{M}_]/u
// Written without spaces, or with endings attached to a name: a border is everywhere.
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

// The marker has words of its own; a fact that says the same is not found in it.
function isInMarker(text: string, start: number, end: number): boolean {
  // Only a marker that begins within its own length before the match can hold it.
  const first = Math.max(0, start - MARKER.length)
  const from = text.slice(first, start + MARKER.length).lastIndexOf(MARKER, start - first)
  return from !== -1 && end <= first + from + MARKER.length
}

interface RedactedJson {
  readonly value: unknown
  readonly count: number
}

/** The same over every text, number and key of a JSON value. */
export function redactJson(value: unknown, content: string | Wanted): RedactedJson {
  const wanted = typeof content === 'string' ? wantedOf(content) : content
  if (typeof value === 'string') {
    const { text, count } = redact(value, wanted)
    return { value: text, count }
  }
  if (typeof value === 'number') {
    const { text, count } = redact(String(value), wanted)
    return count === 0 ? { value, count } : { value: text, count }
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => redactJson(item, wanted))
    return { value: items.map((item) => item.value), count: sum(items) }
  }
  if (typeof value !== 'object' || value === null) return { value, count: 0 }
  return redactObject(value, wanted)
}

function redactObject(value: object, wanted: Wanted): RedactedJson {
  const redacted = new Map<string, unknown>()
  const copies = new Map<string, number>()
  let total = 0
  for (const [key, item] of Object.entries(value)) {
    const name = redact(key, wanted)
    const inner = redactJson(item, wanted)
    total += name.count + inner.count
    // Two keys may have become one: neither value is dropped.
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
