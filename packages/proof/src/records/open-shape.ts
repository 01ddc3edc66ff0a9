// Objects of which some members are defined, and others are the caller's own.
import { findMisfit, isObject } from '../shape.ts'

type Test = (value: unknown) => boolean

/** For members that are left out where there is nothing to say. */
export const absentOr =
  (test: Test): Test =>
  (value) =>
    value === undefined || test(value)

/** An object with these members, and any others. */
export const open =
  (shape: Readonly<Record<string, Test>>): Test =>
  (value) =>
    isObject(value) && findMisfit(value, shape) === null
