// Detects keys that occur twice in an object of a JSON text. Parsers silently keep one of the two
// values, and not all of them the same one (RFC 8259, section 4).

/**
 * Whether an object in the text has a key twice.
 * @param text valid JSON
 * @param value the result of `JSON.parse(text)`
 */
export function hasDuplicateKey(text: string, value: unknown): boolean {
  // JSON.parse keeps the last of two equal keys, so the text then has more keys than the value.
  return countKeysOf(text) !== countMembers(value)
}

/** Counts without recursion, because the nesting of a saved file is not bounded. */
function countMembers(value: unknown): number {
  let count = 0
  const open = [value]
  while (open.length > 0) {
    const one = open.pop()
    if (typeof one !== 'object' || one === null) continue
    const members = Object.values(one)
    if (!Array.isArray(one)) count += members.length
    for (const member of members) if (typeof member === 'object') open.push(member)
  }
  return count
}

/** Counts the keys of a valid JSON text: strings followed by a colon. Jumps from quote to quote. */
function countKeysOf(text: string): number {
  let keys = 0
  for (let start = text.indexOf('"'); start >= 0; ) {
    const end = endOfText(text, start)
    if (isKey(text, end)) keys += 1
    start = text.indexOf('"', end + 1)
  }
  return keys
}

const BACKSLASH = 0x5c
const COLON = 0x3a
const SPACE = 0x20

/** The position of the quote that closes the string that opens at `start`. */
function endOfText(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1
  while (text.charCodeAt(before) === BACKSLASH) before -= 1
  return (at - before) % 2 === 0
}

function isKey(text: string, end: number): boolean {
  let next = end + 1
  while (text.charCodeAt(next) <= SPACE) next += 1
  return text.charCodeAt(next) === COLON
}

/** The path, from the root of the text, to the first key that its object has already. */
export function locateDuplicateKey(text: string): (string | number)[] {
  const loc: (string | number)[] = []
  /** The keys seen so far in each open object; null for an array. */
  const open: (Set<string> | null)[] = []
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    const last = loc.at(-1)
    if (char === '{' || char === '[') {
      open.push(char === '{' ? new Set() : null)
      loc.push(char === '{' ? '' : 0)
    } else if (char === '}' || char === ']') {
      open.pop()
      loc.pop()
    } else if (char === ',' && typeof last === 'number') loc.splice(-1, 1, last + 1)
    else if (char === '"') {
      const end = endOfText(text, at)
      const keys = open.at(-1)
      if (keys && isKey(text, end)) {
        const key: string = JSON.parse(text.slice(at, end + 1))
        loc.splice(-1, 1, key)
        if (keys.has(key)) break
        keys.add(key)
      }
      at = end
    }
  }
  return loc
}
