// Parses a JSON body and refuses what would be changed or misread on its way through.

import { isUtf8 } from 'node:buffer'
import { findJsonProblem } from '../platform/input/json-text.ts'
import { Refusal } from '../platform/refusal.ts'
import { type Detail, type Loc, validationDetail } from '../platform/validation.ts'

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
