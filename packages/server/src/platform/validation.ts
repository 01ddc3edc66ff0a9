// Schema validation: compiled on first use, errors in the FastAPI list shape, never the input.

import { limits, NOT_BLANK } from '@custos/contract'
import type { TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import type { TLocalizedValidationError } from 'typebox/error'
import Format from 'typebox/format'
import { Settings } from 'typebox/system'
import { parseDateOrTime, parseTime } from './clock.ts'
import { Refusal } from './refusal.ts'

export type Loc = readonly (string | number)[]

/** One entry of a 422 answer's `detail`. */
export interface Detail {
  readonly loc: Loc
  readonly msg: string
  readonly type: string
}

const DETAILS_MAX = 20
const SEGMENT_CHARS_MAX = 100
const NONE: readonly Detail[] = []

Settings.Set({ maxErrors: DETAILS_MAX })
Format.Set('timestamp', (text) => parseTime(text) !== null)
Format.Set('date_or_time', (text) => parseDateOrTime(text) !== null)
Format.Set('label', isWithoutControls)

function isWithoutControls(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses
  return text.isWellFormed() && !/[\u0000-\u001f\u007f-\u009f]/.test(text)
}

/** Whether some id may have this text: none is longer or has a control character. */
export const isLabel = (text: unknown): boolean =>
  typeof text === 'string' && text.length <= limits.label_chars && isWithoutControls(text)

/** One schema of one operation; compiling 80 operations eagerly would cost half a second. */
export class Shape {
  readonly #schema: TSchema
  readonly #where: readonly string[]
  #validator: Validator | undefined

  /** @param where the first segments of every location: `body`, `query` or `path`, and on */
  constructor(schema: TSchema, ...where: string[]) {
    this.#schema = schema
    this.#where = where
  }

  /** Throws Refusal `validation` with every problem found, up to 20. */
  assert(value: unknown): void {
    const detail = this.findProblems(value)
    if (detail.length > 0) throw new Refusal('validation', undefined, { detail })
  }

  /** Every problem found, up to 20. */
  findProblems(value: unknown): readonly Detail[] {
    this.#validator ??= Compile(this.#schema)
    if (this.#validator.Check(value)) return NONE
    return this.#explain(this.#validator.Errors(value), value).slice(0, DETAILS_MAX)
  }

  #explain(errors: readonly TLocalizedValidationError[], value: unknown): Detail[] {
    const meant = keepMeantBranches(errors, value)
    const useful = meant.filter(({ keyword }) => !TOLD_BY_OTHERS.has(keyword))
    return collapseTypes(useful).flatMap((error): Detail[] => {
      const loc: Loc = [...this.#where, ...segments(error.instancePath, value)]
      if (error.keyword === 'required')
        return error.params.requiredProperties.map((name) => ({
          loc: [...loc, name],
          msg: 'Field required',
          type: 'missing',
        }))
      const msg = isExtra(error) ? this.#explainExtra(error) : messageOf(error)
      return [{ loc, msg, type: typeOf(error) }]
    })
  }

  #explainExtra({ schemaPath, instancePath }: TLocalizedValidationError): string {
    const object = valueAt(this.#schema, schemaPath.slice(1, -EXTRA.length))
    const declared = isObject(object) && isObject(object['properties']) ? object['properties'] : {}
    const name = unescapeName(instancePath.slice(instancePath.lastIndexOf('/') + 1))
    const nearest = findNearestName(name, Object.keys(declared))
    const known = 'there is no such property'
    return nearest === null ? known : `${known}; did you mean \`${nearest}\`?`
  }
}

/** Whether a value matches, for rare checks outside a request. */
export const validationDetail = (loc: Loc, msg: string, type: string): Refusal =>
  new Refusal('validation', undefined, { detail: [{ loc, msg, type }] })

/** Refuses metadata that is nested too deep or too long. `loc`: its place in the body. */
export function requireMetadataLimits(loc: Loc, metadata: object): void {
  if (isDeeper(metadata, limits.metadata_depth))
    throw validationDetail(
      loc,
      `metadata is nested ${limits.metadata_depth} levels at most`,
      'too_long',
    )
  if (Buffer.byteLength(JSON.stringify(metadata)) > limits.metadata_bytes)
    throw validationDetail(loc, `metadata has ${limits.metadata_bytes} bytes at most`, 'too_long')
}

/** Recurses `levels` deep at most: the body parser does not bound the depth of import lines. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  return Object.values(value).some((member) => isDeeper(member, levels - 1))
}

// Each comes with an error for the branch, or for the property, that says more.
const TOLD_BY_OTHERS: ReadonlySet<string> = new Set(['anyOf', 'additionalProperties'])

/** What the path of the error for an unknown property of a closed object ends with. */
const EXTRA = '/additionalProperties'

const isExtra = ({ keyword, schemaPath }: TLocalizedValidationError): boolean =>
  keyword === 'boolean' && schemaPath.endsWith(EXTRA)

/** Leaves out what is wrong in those branches of a union that are most likely not meant. */
function keepMeantBranches(
  errors: readonly TLocalizedValidationError[],
  value: unknown,
): readonly TLocalizedValidationError[] {
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf')
  // Errors of an inner union are listed first, and leave with the branch they are in.
  return unions
    .toReversed()
    .reduce(
      (kept, union) => keepMeantBranch(kept, union, valueAt(value, union.instancePath)),
      errors,
    )
}

function keepMeantBranch(
  errors: readonly TLocalizedValidationError[],
  union: TLocalizedValidationError,
  value: unknown,
): readonly TLocalizedValidationError[] {
  const branchOf = ({
    schemaPath,
    instancePath,
  }: TLocalizedValidationError): string | undefined => {
    const [all, branch] = /^\/anyOf\/(\d+)/.exec(schemaPath.slice(union.schemaPath.length)) ?? []
    const inside =
      schemaPath.startsWith(`${union.schemaPath}/`) && isWithin(instancePath, union.instancePath)
    return inside && all ? branch : undefined
  }
  const branches = [...Map.groupBy(errors, branchOf)].filter(([branch]) => branch !== undefined)
  const ofType = branches.filter(
    ([, own]) =>
      !own.some(
        ({ keyword, instancePath }) => keyword === 'type' && instancePath === union.instancePath,
      ),
  )
  if (ofType.length === 0) return errors
  const fewest = Math.min(...ofType.map(([, own]) => own.length))
  const [nearest] = ofType.find(([, own]) => own.length === fewest) ?? []
  const meant = isObject(value) ? [nearest] : ofType.map(([branch]) => branch)
  return errors.filter((error) => {
    const branch = branchOf(error)
    return branch === undefined || meant.includes(branch)
  })
}

const isWithin = (pointer: string, outer: string): boolean =>
  pointer === outer || pointer.startsWith(`${outer}/`)

// A nullable value that does not fit fails "null" besides what is wrong in it: that one says it.
function collapseTypes(errors: readonly TLocalizedValidationError[]): TLocalizedValidationError[] {
  const specific = errors.filter((error) => !isTypeNull(error)).map((error) => error.instancePath)
  const explained = ({ instancePath }: TLocalizedValidationError): boolean =>
    specific.some((path) => isWithin(path, instancePath))
  return errors.filter((error) => !isTypeNull(error) || !explained(error))
}

const isTypeNull = (error: TLocalizedValidationError): boolean =>
  error.keyword === 'type' && error.params.type === 'null'

/** JSON Pointer (RFC 6901) to a location: array positions are numbers. */
function segments(pointer: string, root: unknown): (string | number)[] {
  let at = root
  return namesOf(pointer).map((name) => {
    const isIndex = Array.isArray(at)
    // Walks along to tell an array position from a key of digits.
    at = isObject(at) ? at[name] : undefined
    return isIndex ? Number(name) : name.slice(0, SEGMENT_CHARS_MAX).toWellFormed()
  })
}

const valueAt = (root: unknown, pointer: string): unknown =>
  namesOf(pointer).reduce((at, name) => (isObject(at) ? at[name] : undefined), root)

const namesOf = (pointer: string): string[] =>
  pointer === '' ? [] : pointer.slice(1).split('/').map(unescapeName)

const unescapeName = (name: string): string => name.replaceAll('~1', '/').replaceAll('~0', '~')

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'string_type',
  integer: 'int_type',
  number: 'float_type',
  boolean: 'bool_type',
  array: 'list_type',
  object: 'dict_type',
  null: 'none_required',
}

const KEYWORD_TYPES: Readonly<Record<string, string>> = {
  minLength: 'string_too_short',
  maxLength: 'string_too_long',
  minItems: 'too_short',
  maxItems: 'too_long',
  minProperties: 'too_short',
  maxProperties: 'too_long',
  minimum: 'greater_than_equal',
  maximum: 'less_than_equal',
  exclusiveMinimum: 'greater_than',
  exclusiveMaximum: 'less_than',
  pattern: 'string_pattern_mismatch',
  enum: 'enum',
  const: 'literal_error',
  // The error of a closed schema for an unknown property.
  boolean: 'extra_forbidden',
}

function typeOf(error: TLocalizedValidationError): string {
  if (error.keyword === 'type') return TYPE_NAMES[String(error.params.type)] ?? 'type_error'
  if (error.keyword === 'format')
    return error.params.format === 'label' ? 'string_format' : 'datetime_parsing'
  return KEYWORD_TYPES[error.keyword] ?? 'value_error'
}

function messageOf(error: TLocalizedValidationError): string {
  if (error.keyword === 'enum') return `must be one of ${error.params.allowedValues.join(', ')}`
  if (error.keyword === 'format' && error.params.format === 'timestamp')
    return 'must be an RFC 3339 time with an offset'
  if (error.keyword === 'format' && error.params.format === 'date_or_time')
    return 'must be an ISO 8601 date or time'
  if (error.keyword === 'format' && error.params.format === 'label')
    return 'must not contain control characters'
  if (error.keyword === 'pattern' && error.params.pattern === NOT_BLANK)
    return 'must contain more than white space'
  return error.message
}

const EDITS_MAX = 3
const COMPARED_CHARS_MAX = 64

/**
 * The declared name that a misspelt one most likely means: that with the smallest edit distance, or
 * null when none is near. Allows one edit for every three characters, three at most; an edit
 * inserts, deletes or replaces a character, or swaps two neighbours. Case does not count.
 */
export function findNearestName(name: string, candidates: readonly string[]): string | null {
  if (name.length > COMPARED_CHARS_MAX) return null
  const given = name.toLowerCase()
  let nearest: string | null = null
  let smallest = EDITS_MAX + 1
  for (const candidate of candidates) {
    const allowed = Math.min(EDITS_MAX, Math.floor(Math.max(name.length, candidate.length) / 3))
    const distance = editDistance(given, candidate.toLowerCase())
    if (distance > allowed || distance >= smallest) continue
    nearest = candidate
    smallest = distance
  }
  return nearest
}

/** The optimal string alignment distance of two texts, by rows of the usual matrix. */
function editDistance(one: string, other: string): number {
  let before: number[] = []
  let above = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= other.length; column += 1) {
      const replaced = one[row - 1] === other[column - 1] ? 0 : 1
      let least = Math.min(
        at(above, column) + 1,
        at(current, column - 1) + 1,
        at(above, column - 1) + replaced,
      )
      if (one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1])
        least = Math.min(least, at(before, column - 2) + 1)
      current.push(least)
    }
    before = above
    above = current
  }
  return at(above, other.length)
}

const at = (row: readonly number[], column: number): number =>
  row[column] ?? Number.MAX_SAFE_INTEGER
