// Pure: finds a fact's content word for word in another text and replaces it by the marker.

/** What a scrubbed text reads as; always starts with `[REDACTED`. */
export const MARKER = '[REDACTED — GDPR Article 17]'

/** Shorter contents are replaced only where they are a whole field: `yes` is in many sentences. */
const CHARACTERS_MIN = 8

/** Each pass replaces something that was not marker, so a text settles long before this. */
const PASSES_MAX = 16

export interface Redacted {
  readonly text: string
  readonly count: number
}

/**
 * Replaces occurrences of `content` in `text`. Compared in Unicode NFC, without regard to case,
 * the content trimmed; a match begins and ends on word borders, where the script has them.
 * `count` is 0 exactly when the text is returned unchanged.
 */
export function redact(text: string, content: string): Redacted {
  const wanted = content.normalize('NFC').trim()
  if (wanted === '') return { text, count: 0 }
  const needle = fold(wanted).text
  if (text.trim() !== MARKER && fold(text.normalize('NFC').trim()).text === needle)
    return { text: MARKER, count: 1 }
  if ([...wanted].length < CHARACTERS_MIN) return { text, count: 0 }
  let done: Redacted = { text, count: 0 }
  for (let pass = 0; pass < PASSES_MAX; pass += 1) {
    const { text: next, count } = replaceOnce(done.text, needle)
    if (count === 0) return done
    done = { text: next, count: done.count + count }
  }
  return done
}

/** Whether `redact` would change the text: what a check for leftovers asks. */
export const occursIn = (text: string, content: string): boolean => redact(text, content).count > 0

interface Folded {
  readonly text: string
  /** Position in the original of each position here; -1 inside a unit. null: the same. */
  readonly origin: readonly number[] | null
}

// A unit is what NFC may compose: a base with its marks, or Hangul jamo that form a syllable.
// Between units normalising changes nothing, so each maps back to exact original positions.
const UNIT = new RegExp(
  [
    String.raw`(?:[\u1100-\u115f]+[\u1160-\u11a7]*[\u11a8-\u11ff]*`,
    String.raw`|[\uac00-\ud7a3][\u1160-\u11a7]*[\u11a8-\u11ff]*`,
    String.raw`|\P{M})\p{M}*|\p{M}+`,
  ].join(''),
  'gsu',
)
const ASCII = /^[\0-\x7f]*$/

function fold(text: string): Folded {
  if (ASCII.test(text)) return { text: text.toLowerCase(), origin: null }
  const origin: number[] = []
  let folded = ''
  for (const match of text.matchAll(UNIT)) {
    // Lower, upper, lower: letters with several small or capital forms end in one.
    const unit = match[0].normalize('NFC').toLowerCase().toUpperCase().toLowerCase()
    for (let i = 0; i < unit.length; i += 1) origin.push(i === 0 ? match.index : -1)
    folded += unit
  }
  origin.push(text.length)
  return { text: folded, origin }
}

function replaceOnce(text: string, needle: string): Redacted {
  const { text: haystack, origin } = fold(text)
  const place = (at: number) => (origin === null ? at : (origin[at] ?? -1))
  let [out, kept, count] = ['', 0, 0]
  for (let at = haystack.indexOf(needle); at !== -1; ) {
    const [start, end] = [place(at), place(at + needle.length)]
    if (start !== -1 && end !== -1 && isWhole(text, start, end)) {
      out += text.slice(kept, start) + MARKER
      kept = end
      count += 1
      at = haystack.indexOf(needle, at + needle.length)
    } else at = haystack.indexOf(needle, at + 1)
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

/** The same over every text, number and key of a JSON value. */
export function redactJson(value: unknown, content: string): { value: unknown; count: number } {
  if (typeof value === 'string') {
    const { text, count } = redact(value, content)
    return { value: text, count }
  }
  if (typeof value === 'number') {
    const { text, count } = redact(String(value), content)
    return count === 0 ? { value, count } : { value: text, count }
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => redactJson(item, content))
    return { value: items.map((item) => item.value), count: sum(items) }
  }
  if (typeof value !== 'object' || value === null) return { value, count: 0 }
  return redactObject(value, content)
}

function redactObject(value: object, content: string): { value: unknown; count: number } {
  const redacted = new Map<string, unknown>()
  let total = 0
  for (const [key, item] of Object.entries(value)) {
    const name = redact(key, content)
    const inner = redactJson(item, content)
    total += name.count + inner.count
    // Two keys may have become one: neither value is dropped.
    let free = name.text
    for (let copy = 2; redacted.has(free); copy += 1) free = `${name.text} (${copy})`
    redacted.set(free, inner.value)
  }
  return { value: Object.fromEntries(redacted), count: total }
}

const sum = (items: readonly { count: number }[]): number =>
  items.reduce((total, item) => total + item.count, 0)
