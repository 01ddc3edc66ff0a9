// Canonical JSON, RFC 8785 (JCS): the bytes that are hashed and signed.
import { ProofError } from './errors.ts'

/** Any JSON value. Numbers are IEEE 754 doubles, as RFC 8785 requires. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [key: string]: Json }

// Deeper values are refused, so a cycle or a hostile document cannot exhaust the stack.
const DEPTH_MAX = 256

const encoder = new TextEncoder()

/**
 * RFC 8785 text of `value`: keys sorted by UTF-16 code units, ECMAScript numbers, no space.
 * Throws ProofError `not_canonical` for what JSON cannot say: NaN, Infinity, undefined, bigint,
 * lone surrogates, objects that are not plain, nesting deeper than 256.
 */
export function canonicalize(value: Json): string {
  return write(value, 0)
}

/** UTF-8 bytes of `canonicalize(value)`. */
export function canonicalBytes(value: Json): Uint8Array {
  return encoder.encode(write(value, 0))
}

// Takes unknown, not Json: values arrive from outside the type system and are checked here.
function write(value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      return writeString(value)
    case 'number':
      if (!Number.isFinite(value)) throw notCanonical(`the number ${value}`)
      return String(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      if (depth >= DEPTH_MAX) throw notCanonical(`nesting deeper than ${DEPTH_MAX}`)
      return Array.isArray(value) ? writeArray(value, depth + 1) : writeObject(value, depth + 1)
    default:
      throw notCanonical(`a value of type ${typeof value}`)
  }
}

// JSON.stringify escapes exactly as RFC 8785 3.2.2.2 requires, except for lone surrogates.
function writeString(text: string): string {
  if (!text.isWellFormed()) throw notCanonical('a lone surrogate')
  return JSON.stringify(text)
}

function writeArray(items: readonly unknown[], depth: number): string {
  let text = '['
  for (let i = 0; i < items.length; i++) {
    if (i > 0) text += ','
    text += write(items[i], depth)
  }
  return `${text}]`
}

function writeObject(object: object, depth: number): string {
  if (!isPlain(object)) throw notCanonical('an object that is not plain')
  // A typed view of the same object; each value is checked by `write`.
  const fields = object as Record<string, unknown>
  // The default sort compares UTF-16 code units: RFC 8785 3.2.3.
  const keys = Object.keys(fields).sort()
  let text = '{'
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] ?? ''
    if (i > 0) text += ','
    text += `${writeString(key)}:${write(fields[key], depth)}`
  }
  return `${text}}`
}

// Dates, Maps and byte arrays would lose their content silently. The second check of the prototype
// accepts plain objects of another realm (a worker, a frame).
function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object)
  if (prototype === Object.prototype || prototype === null) return true
  return typeof prototype === 'object' && Object.getPrototypeOf(prototype) === null
}

function notCanonical(what: string): ProofError {
  return new ProofError('not_canonical', `${what} has no canonical JSON form`)
}
