// Compiles the keywords of JSON Schema 2020-12 that tenants' schemas may use into tests.

import { canonicalize, isObject, type Json, type JsonObject } from '@custos/proof'
import Format from 'typebox/format'
import type { CheckRun, SchemaTest } from './check-run.ts'

/**
 * `digits` times ten to the power of `power`, from the shortest text of the number: 0.3 is three
 * times 0.1, although not in binary.
 */
function decimalOf(value: number) {
  const [mantissa = '0', exponent = '0'] = value.toExponential().split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), power: Number(exponent) - fraction.length }
}

const FEWEST_STEPS = 20

/**
 * Whether a number is a whole multiple of `divisor`, exactly. `step` counts the work: digits that
 * are multiplied and divided.
 */
function multiplesOf(divisor: number): (value: number, step: (count: number) => void) => boolean {
  const unit = decimalOf(divisor)
  const whole = Number.isSafeInteger(divisor)
  return (value, step) => {
    if (whole && Number.isSafeInteger(value)) return value % divisor === 0
    const { digits, power } = decimalOf(value)
    const shift = power - unit.power
    step(FEWEST_STEPS + Math.abs(shift))
    if (shift >= 0) return (digits * 10n ** BigInt(shift)) % unit.digits === 0n
    return digits % (unit.digits * 10n ** BigInt(-shift)) === 0n
  }
}

/** Helpers to read a keyword: its siblings, nested schemas, and a refusal at its location. */
export interface KeywordReader {
  /** The other keywords of the same schema. */
  readonly siblings: JsonObject
  /** A schema in the keyword's value, at `path` from it. */
  read(schema: Json, ...path: readonly (string | number)[]): SchemaTest
  refuse(msg: string): never
}

/** `null` if the test of another keyword covers this one. */
type Keyword = (given: Json, reading: KeywordReader) => SchemaTest | null

const TYPES = ['string', 'integer', 'number', 'boolean', 'object', 'array', 'null'] as const

/** Checked by comparisons and by expressions that run in linear time. */
const FORMATS = [
  ...(['date-time', 'date', 'time', 'duration'] as const),
  ...(['email', 'uuid', 'ipv4', 'ipv6', 'uri'] as const),
] as const

const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value)
const isText = (value: Json | undefined): value is string => typeof value === 'string'
const isTexts = (value: Json | undefined): value is readonly string[] =>
  isList(value) && value.every(isText)
const isCount = (value: Json | undefined): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0

const all =
  (tests: readonly SchemaTest[]): SchemaTest =>
  (value, loc, run) => {
    let fits = true
    for (const test of tests) fits = test(value, loc, run) && fits
    return fits
  }

function isOfType(value: Json, type: string): boolean {
  if (value === null) return type === 'null'
  if (isList(value)) return type === 'array'
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}

const type: Keyword = (given, { refuse }) => {
  const known: readonly unknown[] = TYPES
  const types = isText(given) ? [given] : given
  if (!isTexts(types) || types.length === 0 || !types.every((one) => known.includes(one)))
    return refuse(`must be one of ${TYPES.join(', ')}, or a list of these`)
  if (new Set(types).size < types.length) return refuse('must name each type once')
  const what = `must be ${types.join(' or ')}`
  return (value, loc, run) => types.some((one) => isOfType(value, one)) || run.fail(loc, what)
}

/** Compares canonical JSON, so that 1 equals 1.0 and the order of members is ignored. */
const equals =
  (texts: ReadonlySet<string>, msg: string): SchemaTest =>
  (value, loc, run) => {
    return texts.has(run.textOf(value)) || run.fail(loc, msg)
  }

const enumeration: Keyword = (given, { refuse }) => {
  if (!isList(given) || given.length === 0) return refuse('must be a list of values')
  return equals(new Set(given.map(canonicalize)), 'is not one of the allowed values')
}

const constant: Keyword = (given) => equals(new Set([canonicalize(given)]), 'is another value')

// Numbers

const bound =
  (fits: (value: number, limit: number) => boolean, sign: string): Keyword =>
  (limit, { refuse }) => {
    if (typeof limit !== 'number') return refuse('must be a number')
    const msg = `must be ${sign} ${limit}`
    return (value, loc, run) =>
      typeof value !== 'number' || fits(value, limit) || run.fail(loc, msg)
  }

const multipleOf: Keyword = (divisor, { refuse }) => {
  if (typeof divisor !== 'number' || divisor <= 0) return refuse('must be a number above 0')
  const msg = `must be a multiple of ${divisor}`
  const isMultiple = multiplesOf(divisor)
  return (value, loc, run) =>
    typeof value !== 'number' || isMultiple(value, (steps) => run.step(steps)) || run.fail(loc, msg)
}

// Counts

const AT_LEAST = (count: number, limit: number): boolean => count >= limit
const AT_MOST = (count: number, limit: number): boolean => count <= limit

/** @param countOf returns undefined if the keyword does not apply to the value */
const counted =
  (
    countOf: (value: Json, run: CheckRun) => number | undefined,
    fits: (count: number, limit: number) => boolean,
    what: string,
  ): Keyword =>
  (limit, { refuse }) => {
    if (!isCount(limit)) return refuse('must be a count')
    const msg = `has ${what} ${limit}`
    return (value, loc, run) => {
      const count = countOf(value, run)
      return count === undefined || fits(count, limit) || run.fail(loc, msg)
    }
  }

function characters(value: Json, run: CheckRun): number | undefined {
  if (!isText(value)) return undefined
  run.step(value.length)
  let count = 0
  for (const _ of value) count += 1
  return count
}

const items = (value: Json): number | undefined => (isList(value) ? value.length : undefined)
const members = (value: Json, run: CheckRun): number | undefined =>
  isObject(value) ? run.namesOf(value).length : undefined

const format: Keyword = (name, { refuse }) => {
  const known: readonly unknown[] = FORMATS
  if (!isText(name) || !known.includes(name)) return refuse(`must be one of ${FORMATS.join(', ')}`)
  return (value, loc, run) => {
    if (!isText(value)) return true
    run.step(value.length)
    return Format.Test(name, value) || run.fail(loc, `must be of the format ${name}`)
  }
}

// Objects

/** Compiles a schema for each member name. */
function namedTests(given: Json, { read, refuse }: KeywordReader): ReadonlyMap<string, SchemaTest> {
  if (!isObject(given)) return refuse('must be an object of schemas')
  return new Map(Object.entries(given).map(([name, schema]) => [name, read(schema, name)]))
}

const properties: Keyword = (given, reading) => {
  const tests = namedTests(given, reading)
  return (value, loc, run) => {
    if (!isObject(value)) return true
    run.step(tests.size)
    let fits = true
    for (const [name, test] of tests) {
      const member = memberOf(value, name)
      if (member !== undefined) fits = test(member, [...loc, name], run) && fits
    }
    return fits
  }
}

const memberOf = (object: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined

/** The cost of finding a member by its name, in the schema and in the object. */
const MEMBER_STEPS = 3

const additionalProperties: Keyword = (given, { siblings, read }) => {
  const test = read(given)
  const { properties: known = {} } = siblings
  const names = new Set(isObject(known) ? Object.keys(known) : [])
  return (value, loc, run) => {
    if (!isObject(value)) return true
    let fits = true
    for (const name of run.namesOf(value)) {
      run.step(MEMBER_STEPS)
      if (names.has(name)) continue
      fits = test(value[name] ?? null, [...loc, name], run) && fits
    }
    return fits
  }
}

const propertyNames: Keyword = (given, { read }) => {
  const test = read(given)
  return (value, loc, run) => {
    if (!isObject(value)) return true
    const fits = run.namesOf(value).every((name) => run.quietly(test, name, loc))
    return fits || run.fail(loc, 'has a member with a name that is not allowed')
  }
}

function findMissing(value: JsonObject, names: readonly string[], run: CheckRun): string[] {
  run.step(names.length)
  return names.filter((name) => !Object.hasOwn(value, name))
}

const required: Keyword = (names, { refuse }) => {
  if (!isTexts(names)) return refuse('must be a list of names')
  return (value, loc, run) => {
    if (!isObject(value)) return true
    const missing = findMissing(value, names, run)
    for (const name of missing) run.fail([...loc, name], 'is required')
    return missing.length === 0
  }
}

const dependentRequired: Keyword = (given, { refuse }) => {
  if (!isObject(given)) return refuse('must be an object of lists of names')
  const lists = Object.entries(given).map(([name, names]) => {
    if (!isTexts(names)) return refuse('must be an object of lists of names')
    return { name, names }
  })
  return (value, loc, run) => {
    if (!isObject(value)) return true
    const present = lists.filter(({ name }) => Object.hasOwn(value, name))
    run.step(lists.length)
    const missing = present.flatMap(({ names }) => findMissing(value, names, run))
    for (const name of missing) run.fail([...loc, name], 'is required beside another member')
    return missing.length === 0
  }
}

const dependentSchemas: Keyword = (given, reading) => {
  const tests = namedTests(given, reading)
  return (value, loc, run) => {
    if (!isObject(value)) return true
    run.step(tests.size)
    const concerned = [...tests].filter(([name]) => Object.hasOwn(value, name))
    return all(concerned.map(([, test]) => test))(value, loc, run)
  }
}

// Lists

function listOfTests(given: Json, { read, refuse }: KeywordReader): readonly SchemaTest[] {
  if (!isList(given) || given.length === 0) return refuse('must be a list of schemas')
  return given.map((schema, i) => read(schema, i))
}

const prefixItems: Keyword = (given, reading) => {
  const tests = listOfTests(given, reading)
  return (value, loc, run) => {
    if (!isList(value)) return true
    let fits = true
    for (const [i, item] of value.slice(0, tests.length).entries()) {
      const test = tests[i]
      if (test) fits = test(item, [...loc, i], run) && fits
    }
    return fits
  }
}

const itemsOf: Keyword = (given, { siblings, read }) => {
  const test = read(given)
  const { prefixItems: prefix } = siblings
  const start = isList(prefix) ? prefix.length : 0
  return (value, loc, run) => {
    if (!isList(value)) return true
    let fits = true
    for (let i = start; i < value.length; i += 1)
      fits = test(value[i] ?? null, [...loc, i], run) && fits
    return fits
  }
}

const contains: Keyword = (given, { siblings, read }) => {
  const test = read(given)
  const { minContains = 1, maxContains = Number.MAX_SAFE_INTEGER } = siblings
  const [least, most] = [Number(minContains), Number(maxContains)]
  return (value, loc, run) => {
    if (!isList(value)) return true
    const count = value.filter((item) => run.quietly(test, item, loc)).length
    return (
      (count >= least && count <= most) ||
      run.fail(loc, 'does not contain the items it must, or too many of them')
    )
  }
}

const count: Keyword = (given, { refuse }) => (isCount(given) ? null : refuse('must be a count'))

const uniqueItems: Keyword = (given, { refuse }) => {
  if (typeof given !== 'boolean') return refuse('must be true or false')
  if (!given) return null
  return (value, loc, run) => {
    if (!isList(value)) return true
    const texts = new Set(value.map((item) => run.textOf(item)))
    return texts.size === value.length || run.fail(loc, 'has an item twice')
  }
}

// Alternatives

const allOf: Keyword = (given, reading) => all(listOfTests(given, reading))

/** Tests how many of the alternatives fit. */
const someOf =
  (fits: (count: number) => boolean, msg: string): Keyword =>
  (given, reading) => {
    const tests = listOfTests(given, reading)
    return (value, loc, run) => {
      const fitting = tests.filter((test) => run.quietly(test, value, loc))
      return fits(fitting.length) || run.fail(loc, msg)
    }
  }

const not: Keyword = (given, { read }) => {
  const test = read(given)
  return (value, loc, run) => !run.quietly(test, value, loc) || run.fail(loc, 'is not allowed')
}

const ANYTHING: SchemaTest = () => true

const conditional: Keyword = (given, { siblings, read }) => {
  const test = read(given)
  const branch = (schema: Json | undefined, name: string): SchemaTest =>
    schema === undefined ? ANYTHING : read(schema, '..', name)
  const met = branch(siblings['then'], 'then')
  const unmet = branch(siblings['else'], 'else')
  return (value, loc, run) => (run.quietly(test, value, loc) ? met : unmet)(value, loc, run)
}

/** Tests nothing by itself: `if` reads it. Without `if` it is read only to find mistakes. */
const consequence: Keyword = (given, { siblings, read }) => {
  if (!Object.hasOwn(siblings, 'if')) read(given)
  return null
}

export const KEYWORDS: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  ['type', type],
  ['enum', enumeration],
  ['const', constant],
  ['minimum', bound((value, limit) => value >= limit, '>=')],
  ['maximum', bound((value, limit) => value <= limit, '<=')],
  ['exclusiveMinimum', bound((value, limit) => value > limit, '>')],
  ['exclusiveMaximum', bound((value, limit) => value < limit, '<')],
  ['multipleOf', multipleOf],
  ['minLength', counted(characters, AT_LEAST, 'fewer characters than')],
  ['maxLength', counted(characters, AT_MOST, 'more characters than')],
  ['minItems', counted(items, AT_LEAST, 'fewer items than')],
  ['maxItems', counted(items, AT_MOST, 'more items than')],
  ['minProperties', counted(members, AT_LEAST, 'fewer members than')],
  ['maxProperties', counted(members, AT_MOST, 'more members than')],
  ['format', format],
  ['properties', properties],
  ['additionalProperties', additionalProperties],
  ['propertyNames', propertyNames],
  ['required', required],
  ['dependentRequired', dependentRequired],
  ['dependentSchemas', dependentSchemas],
  ['prefixItems', prefixItems],
  ['items', itemsOf],
  ['contains', contains],
  ['minContains', count],
  ['maxContains', count],
  ['uniqueItems', uniqueItems],
  ['allOf', allOf],
  ['anyOf', someOf((fitting) => fitting > 0, 'fits none of the alternatives')],
  ['oneOf', someOf((fitting) => fitting === 1, 'does not fit exactly one of the alternatives')],
  ['not', not],
  ['if', conditional],
  ['then', consequence],
  ['else', consequence],
])
