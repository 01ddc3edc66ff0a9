// Parses JSON and refuses what would be changed or misread in later processing.

import { isUtf8 } from 'node:buffer'
import { limits } from '@custos/contract'
import { hasDuplicateKey, locateDuplicateKey } from '@custos/proof'
import { Refusal } from '../refusal.ts'
import { type Detail, type Loc, validationDetail } from '../validation.ts'

const KEY_CHARS_MAX = 100

/**
 * Parses a body. Refuses malformed JSON and invalid UTF-8 (`malformed_json`), and problems that
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
    // The engine's message quotes the input, so only its position is passed on.
    const found = error instanceof SyntaxError ? /position (\d+)/.exec(error.message) : null
    throw malformed('JSON decode error', found ? [Number(found[1])] : [])
  }
}

const malformed = (msg: string, at: Loc): Refusal => {
  const detail: Detail[] = [{ loc: ['body', ...at], msg, type: 'json_invalid' }]
  return new Refusal('malformed_json', undefined, { detail })
}

/** Refuses a private key in a body: `signing_key` at the top level, in `options` or in an item. */
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
 * `limits.json_depth`, or a duplicate key in an object. Returns null if there is none. Its location
 * is relative to the value.
 */
export function findJsonProblem(text: string, value: unknown): Detail | null {
  // In valid UTF-8, only an escape can produce U+0000, a lone surrogate or a disguised key.
  const found = inspect(value, 1, text.includes('\\u'))
  if (found !== null) return found
  if (!hasDuplicateKey(text, value)) return null
  const loc = locateDuplicateKey(text).map(shortenSegment)
  return { loc, msg: 'This key occurs twice', type: 'duplicate_key' }
}

/** The same for a value without its text; does not find duplicate keys. */
export const findValueProblem = (value: unknown): Detail | null => inspect(value, 1, true)

// Builds the location while the recursion unwinds, so that a valid body allocates nothing.
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
  loc: [shortenSegment(segment), ...loc],
})

const shortenSegment = (segment: string | number): string | number =>
  typeof segment === 'string' ? segment.slice(0, KEY_CHARS_MAX).toWellFormed() : segment
