// Type guards for values of unknown shape: the parse boundary of the verifier.
import type { JsonObject } from './canonical.ts'

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** Whether a value is a non-negative safe integer: a sequence number, size or count. */
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

/** Also accepts a field that is absent or null. */
export function optional(test: Test): Test {
  return (value) => value === undefined || value === null || test(value)
}

/** The name of the first field that is missing or has the wrong type; null if all fit. */
export function findMismatch(
  value: JsonObject,
  shape: Readonly<Record<string, Test>>,
): string | null {
  for (const [field, test] of Object.entries(shape)) {
    if (!test(Object.hasOwn(value, field) ? value[field] : undefined)) return field
  }
  return null
}
