// What a JSON text may not contain, because it would be changed or misread on its way through.

import { limits } from '@custos/contract'

export interface JsonProblem {
  /** Keys and positions on the way to it. */
  readonly loc: readonly (string | number)[]
  readonly msg: string
  readonly type: string
}

/** What the walk over a value knows and counts. */
interface Walk {
  /** In valid UTF-8 only an escape can bring in U+0000, a lone surrogate or a disguised key. */
  readonly escaped: boolean
  keys: number
}

const KEY_CHARS_MAX = 100

/**
 * The first problem of a text and the value parsed from it: integers beyond 2^53-1, infinite numbers,
 * U+0000, lone surrogates, keys that reach a prototype, nesting deeper than `limits.json_depth`, and
 * keys that occur twice in an object. Null: there is none.
 */
export function findJsonProblem(text: string, value: unknown): JsonProblem | null {
  const walk: Walk = { escaped: text.includes('\\u'), keys: 0 }
  const found = inspect(value, 1, walk)
  if (found !== null) return found
  // A parser keeps the last of two equal keys: then the text has more keys than the value.
  if (countKeys(text) === walk.keys) return null
  return { loc: locateDuplicate(text), msg: 'This key occurs twice', type: 'duplicate_key' }
}

// The location grows while the recursion unwinds: nothing is built for a good body.
function inspect(value: unknown, depth: number, walk: Walk): JsonProblem | null {
  if (typeof value === 'string') return walk.escaped ? inspectText(value) : null
  if (typeof value === 'number') return inspectNumber(value)
  if (typeof value !== 'object' || value === null) return null
  if (depth > limits.json_depth)
    return problem('nesting_too_deep', `Nested deeper than ${limits.json_depth} levels`)
  if (Array.isArray(value)) return inspectArray(value, depth, walk)
  return inspectObject(value, depth, walk)
}

function inspectArray(items: readonly unknown[], depth: number, walk: Walk): JsonProblem | null {
  for (let i = 0; i < items.length; i += 1) {
    const found = inspect(items[i], depth + 1, walk)
    if (found) return within(i, found)
  }
  return null
}

function inspectObject(object: object, depth: number, walk: Walk): JsonProblem | null {
  for (const [key, member] of Object.entries(object)) {
    walk.keys += 1
    if (reachesPrototype(key, member))
      return within(key, problem('key_forbidden', 'This key is not allowed'))
    const found = (walk.escaped ? inspectText(key) : null) ?? inspect(member, depth + 1, walk)
    if (found) return within(key, found)
  }
  return null
}

function reachesPrototype(key: string, member: unknown): boolean {
  if (key === '__proto__') return true
  if (key !== 'constructor' || typeof member !== 'object' || member === null) return false
  return Object.hasOwn(member, 'prototype')
}

function inspectText(text: string): JsonProblem | null {
  if (text.includes('\0')) return problem('string_nul', 'U+0000 is not allowed')
  if (!text.isWellFormed()) return problem('string_unicode', 'Lone surrogates are not allowed')
  return null
}

function inspectNumber(value: number): JsonProblem | null {
  if (!Number.isFinite(value)) return problem('finite_number', 'The number is out of range')
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    return problem('int_out_of_range', 'Integers must lie within ±(2^53 - 1)')
  return null
}

const problem = (type: string, msg: string): JsonProblem => ({ loc: [], msg, type })

const within = (segment: string | number, { loc, ...rest }: JsonProblem): JsonProblem => ({
  ...rest,
  loc: [typeof segment === 'string' ? shorten(segment) : segment, ...loc],
})

const shorten = (key: string): string => key.slice(0, KEY_CHARS_MAX).toWellFormed()

/** The keys of a valid JSON text: texts with a colon behind them. Jumps from quote to quote. */
function countKeys(text: string): number {
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

interface Frame {
  /** Null: an array. */
  readonly keys: Set<string> | null
  segment: string | number
}

/** Where the first key of a valid JSON text is that its object has already. */
function locateDuplicate(text: string): (string | number)[] {
  const frames: Frame[] = []
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    const frame = frames.at(-1)
    if (char === '{') frames.push({ keys: new Set(), segment: '' })
    else if (char === '[') frames.push({ keys: null, segment: 0 })
    else if (char === '}' || char === ']') frames.pop()
    else if (char === ',' && typeof frame?.segment === 'number') frame.segment += 1
    else if (char === '"') {
      const end = endOfText(text, at)
      if (frame?.keys && isKey(text, end)) {
        const key: string = JSON.parse(text.slice(at, end + 1))
        frame.segment = shorten(key)
        if (frame.keys.has(key)) break
        frame.keys.add(key)
      }
      at = end
    }
  }
  return frames.map(({ segment }) => segment)
}
