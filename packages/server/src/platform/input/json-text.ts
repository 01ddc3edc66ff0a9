// Parses JSON and refuses what would be changed or misread on its way through.

import { isUtf8 } from 'node:buffer'
import { limits } from '@custos/contract'
import { Refusal } from '../refusal.ts'
import { type Detail, type Loc, validationDetail } from '../validation.ts'

const KEY_CHARS_MAX = 100

/**
 * The parsed body. Refuses malformed JSON and invalid UTF-8 (`malformed_json`), and what
 * `findJsonProblem` finds (`validation`).
 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw malformed('The body is not UTF-8', [])
  const text = bytes.toString('utf8')
  const value = parse(text)
  const problem = findJsonProblem(text, value)
  if (problem) throw validationDetail(['body', ...problem.loc], problem.msg, problem.type)
  return value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    // The engine's message quotes the input; only the position is passed on.
    const found = error instanceof SyntaxError ? /position (\d+)/.exec(error.message) : null
    throw malformed('JSON decode error', found ? [Number(found[1])] : [])
  }
}

const malformed = (msg: string, at: Loc): Refusal => {
  const detail: Detail[] = [{ loc: ['body', ...at], msg, type: 'json_invalid' }]
  return new Refusal('malformed_json', undefined, { detail })
}

/** Private keys must not travel: `signing_key` at the top level, in `options` or in an item. */
export function refuseSigningKey(body: unknown): void {
  if (carriesSigningKey(body)) throw new Refusal('signing_key_refused')
  if (typeof body !== 'object' || body === null || !('items' in body)) return
  if (Array.isArray(body.items) && body.items.some(carriesSigningKey))
    throw new Refusal('signing_key_refused')
}

function carriesSigningKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if ('signing_key' in value && value.signing_key !== null) return true
  return 'options' in value && value.options !== value && carriesSigningKey(value.options)
}

/**
 * The first problem of a text and the value parsed from it: integers beyond 2^53-1, infinite
 * numbers, U+0000, lone surrogates, keys that reach a prototype, nesting deeper than
 * `limits.json_depth`, and keys that occur twice in an object. Null: there is none. Its location
 * starts in the value.
 */
export function findJsonProblem(text: string, value: unknown): Detail | null {
  // In valid UTF-8 only an escape can bring in U+0000, a lone surrogate or a disguised key.
  const found = inspect(value, 1, text.includes('\\u'))
  if (found !== null) return found
  // A parser keeps the last of two equal keys: then the text has more keys than the value.
  if (countKeysOf(text) === countMembers(value)) return null
  return { loc: locateDuplicate(text), msg: 'This key occurs twice', type: 'duplicate_key' }
}

// The location grows while the recursion unwinds: nothing is built for a good body.
function inspect(value: unknown, depth: number, escaped: boolean): Detail | null {
  if (typeof value === 'string') return escaped ? inspectText(value) : null
  if (typeof value === 'number') return inspectNumber(value)
  if (typeof value !== 'object' || value === null) return null
  if (depth > limits.json_depth)
    return problem('nesting_too_deep', `Nested deeper than ${limits.json_depth} levels`)
  if (Array.isArray(value)) return inspectArray(value, depth, escaped)
  return inspectObject(value, depth, escaped)
}

function inspectArray(items: readonly unknown[], depth: number, escaped: boolean): Detail | null {
  for (let i = 0; i < items.length; i += 1) {
    const found = inspect(items[i], depth + 1, escaped)
    if (found) return within(i, found)
  }
  return null
}

function inspectObject(object: object, depth: number, escaped: boolean): Detail | null {
  for (const [key, member] of Object.entries(object)) {
    if (reachesPrototype(key, member))
      return within(key, problem('key_forbidden', 'This key is not allowed'))
    const found = (escaped ? inspectText(key) : null) ?? inspect(member, depth + 1, escaped)
    if (found) return within(key, found)
  }
  return null
}

function reachesPrototype(key: string, member: unknown): boolean {
  if (key === '__proto__') return true
  if (key !== 'constructor' || typeof member !== 'object' || member === null) return false
  return Object.hasOwn(member, 'prototype')
}

function inspectText(text: string): Detail | null {
  if (text.includes('\0')) return problem('string_nul', 'U+0000 is not allowed')
  if (!text.isWellFormed()) return problem('string_unicode', 'Lone surrogates are not allowed')
  return null
}

function inspectNumber(value: number): Detail | null {
  if (!Number.isFinite(value)) return problem('finite_number', 'The number is out of range')
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    return problem('int_out_of_range', 'Integers must lie within ±(2^53 - 1)')
  return null
}

const problem = (type: string, msg: string): Detail => ({ loc: [], msg, type })

const within = (segment: string | number, { loc, ...rest }: Detail): Detail => ({
  ...rest,
  loc: [typeof segment === 'string' ? shorten(segment) : segment, ...loc],
})

const shorten = (key: string): string => key.slice(0, KEY_CHARS_MAX).toWellFormed()

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const members = Object.values(value)
  let count = Array.isArray(value) ? 0 : members.length
  for (const member of members) count += countMembers(member)
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

/** Where the first key of a valid JSON text is that its object has already. */
function locateDuplicate(text: string): (string | number)[] {
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
        loc.splice(-1, 1, shorten(key))
        if (keys.has(key)) break
        keys.add(key)
      }
      at = end
    }
  }
  return loc
}
