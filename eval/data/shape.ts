// Data from outside, held to a schema before it is used.

import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'

/** A function that returns what it is given, typed, or throws on the first thing that is wrong. */
export function readerOf<T extends TSchema>(schema: T): (value: unknown) => Static<T> {
  const validator = Compile(schema)
  return (value) => {
    if (validator.Check(value)) return value
    const [error] = validator.Errors(value)
    throw new Error(`not as expected: ${error?.instancePath || 'the value'} ${error?.message}`)
  }
}
