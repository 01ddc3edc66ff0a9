// Reading values of unknown shape: the parse boundary of the verifier.
import type { JsonObject } from './canonical.ts'

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** A non-negative integer a double holds exactly: sequence numbers, sizes, counts. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

export function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText)
}

type Test = (value: unknown) => boolean

export function orNull(test: Test): Test {
  return (value) => value === null || test(value)
}

/** For fields a record may leave out or set to null. */
export function optional(test: Test): Test {
  return (value) => value === undefined || value === null || test(value)
}

/** The name of the first field that is missing or of the wrong type, or null when all fit. */
export function findMismatch(
  value: JsonObject,
  shape: Readonly<Record<string, Test>>,
): string | null {
  for (const [field, test] of Object.entries(shape)) {
    if (!test(Object.hasOwn(value, field) ? value[field] : undefined)) return field
  }
  return null
}
