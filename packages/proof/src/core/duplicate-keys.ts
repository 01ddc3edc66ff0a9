// Keys that occur twice in an object of a JSON text: parsers keep one of the two and show neither,
// so that two readers may see two values (RFC 8259, section 4).

/**
 * Whether an object of the text has a key twice.
 * @param text valid JSON
 * @param value what `JSON.parse` made from it
 */
export function hasDuplicateKey(text: string, value: unknown): boolean {
  // A parser keeps the last of two equal keys: then the text has more keys than the value.
  return countKeysOf(text) !== countMembers(value)
}

/** Without recursion: nothing bounds how deep a saved file is nested. */
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

/** The keys of a valid JSON text: texts with a colon behind them. Jumps from quote to quote. */
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

/** The quote that closes the one at `start`. */
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

/** Where the first key is, from the whole text on, that its object has already. */
export function locateDuplicateKey(text: string): (string | number)[] {
  const loc: (string | number)[] = []
  /** The keys so far of each open object; null: an array. */
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
