// Schema validation of requests. Error lists have FastAPI's format and never repeat the input.

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
/** Each branch of a union reports its own errors, and most of them are dropped. */
const ERRORS_MAX = 10 * DETAILS_MAX
const SEGMENT_CHARS_MAX = 100
const NONE: readonly Detail[] = []

Settings.Set({ maxErrors: ERRORS_MAX })
Format.Set('timestamp', (text) => parseTime(text) !== null)
Format.Set('date_or_time', (text) => parseDateOrTime(text) !== null)
Format.Set('label', isWithoutControls)

function isWithoutControls(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses
  return text.isWellFormed() && !/[\u0000-\u001f\u007f-\u009f]/.test(text)
}

/** Whether a value can be an id: a string within the length limit, without control characters. */
export const isLabel = (text: unknown): boolean =>
  typeof text === 'string' && text.length <= limits.label_chars && isWithoutControls(text)

/** A schema that is compiled on first use, because compiling all of them would delay the start. */
export class Shape {
  readonly #schema: TSchema
  readonly #where: readonly string[]
  #validator: Validator | undefined

  /** @param where prefix of every location: `body`, `query` or `path`, then further segments */
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
    const errors = this.#validator.Errors(value)
    return this.#explain(errors.slice(0, endOf(errors)), value).slice(0, DETAILS_MAX)
  }

  #explain(errors: readonly TLocalizedValidationError[], value: unknown): Detail[] {
    const likely = keepLikelyBranches(errors, value)
    const useful = likely.filter(({ keyword }) => !REDUNDANT_KEYWORDS.has(keyword))
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

/** A `validation` refusal with one problem, for checks that a schema cannot express. */
export const validationDetail = (loc: Loc, msg: string, type: string): Refusal =>
  new Refusal('validation', undefined, { detail: [{ loc, msg, type }] })

/** Refuses metadata that is nested too deep or too large. `loc` is its location in the body. */
export function requireMetadataLimits(loc: Loc, metadata: object): void {
  if (isDeeper(metadata, limits.metadata_depth))
    throw validationDetail(
      loc,
      `metadata must not be nested deeper than ${limits.metadata_depth} levels`,
      'too_long',
    )
  if (Buffer.byteLength(JSON.stringify(metadata)) > limits.metadata_bytes)
    throw validationDetail(
      loc,
      `metadata must not exceed ${limits.metadata_bytes} bytes`,
      'too_long',
    )
}

/** Recurses at most `levels` deep: the body parser does not bound the depth of import lines. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  return Object.values(value).some((member) => isDeeper(member, levels - 1))
}

// Each of these errors comes with a more specific one, for the branch or the property.
const REDUNDANT_KEYWORDS: ReadonlySet<string> = new Set(['anyOf', 'additionalProperties'])

/** The end of the schema path of an unknown-property error. */
const EXTRA = '/additionalProperties'

const isExtra = ({ keyword, schemaPath }: TLocalizedValidationError): boolean =>
  keyword === 'boolean' && schemaPath.endsWith(EXTRA)

/** Start of the errors of a union that the limit has cut off: no branch of it can be chosen. */
function endOf(errors: readonly TLocalizedValidationError[]): number {
  if (errors.length < ERRORS_MAX) return errors.length
  const whole = errors.findLastIndex(({ keyword }) => keyword === 'anyOf') + 1
  const cut = errors.findIndex(({ schemaPath }, i) => i >= whole && schemaPath.includes('/anyOf/'))
  return cut > 0 ? cut : errors.length
}

/** Drops the errors of those branches of a union that the caller most likely did not mean. */
function keepLikelyBranches(
  errors: readonly TLocalizedValidationError[],
  value: unknown,
): readonly TLocalizedValidationError[] {
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf')
  // Outer unions first: dropping a branch also drops the errors of unions inside it.
  return unions
    .toReversed()
    .reduce(
      (kept, union) => keepLikelyBranch(kept, union, valueAt(value, union.instancePath)),
      errors,
    )
}

/** Matches the schema path of a member whose value a branch fixes. */
const CONSTANT = /^\/anyOf\/\d+\/properties\/[^/]+$/

function keepLikelyBranch(
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
  // A member such as `op` names the intended branch, however many errors the others have.
  const named = ofType.filter(
    ([, own]) =>
      !own.some(
        ({ keyword, schemaPath }) =>
          keyword === 'const' && CONSTANT.test(schemaPath.slice(union.schemaPath.length)),
      ),
  )
  const candidates = named.length === 0 ? ofType : named
  const fewest = Math.min(...candidates.map(([, own]) => own.length))
  const [nearest] = candidates.find(([, own]) => own.length === fewest) ?? []
  const likely = isObject(value) ? [nearest] : ofType.map(([branch]) => branch)
  return errors.filter((error) => {
    const branch = branchOf(error)
    return branch === undefined || likely.includes(branch)
  })
}

const isWithin = (pointer: string, outer: string): boolean =>
  pointer === outer || pointer.startsWith(`${outer}/`)

// Drops "must be null" where a nullable value has a more specific error of its own.
function collapseTypes(errors: readonly TLocalizedValidationError[]): TLocalizedValidationError[] {
  const specific = errors.filter((error) => !isTypeNull(error)).map((error) => error.instancePath)
  const explained = ({ instancePath }: TLocalizedValidationError): boolean =>
    specific.some((path) => isWithin(path, instancePath))
  return errors.filter((error) => !isTypeNull(error) || !explained(error))
}

const isTypeNull = (error: TLocalizedValidationError): boolean =>
  error.keyword === 'type' && error.params.type === 'null'

/** The segments of a JSON Pointer (RFC 6901); array positions are numbers. */
function segments(pointer: string, root: unknown): (string | number)[] {
  let at = root
  return namesOf(pointer).map((name) => {
    const isIndex = Array.isArray(at)
    // Follows the value to tell an array index from an object key of digits.
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
  // A closed schema reports an unknown property with this keyword.
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
    return 'must be an RFC 3339 time with an offset, from 1700 to 2254'
  if (error.keyword === 'format' && error.params.format === 'date_or_time')
    return 'must be an ISO 8601 date or time, from 1700 to 2254'
  if (error.keyword === 'format' && error.params.format === 'label')
    return 'must not contain control characters'
  if (error.keyword === 'pattern' && error.params.pattern === NOT_BLANK)
    return 'must contain more than white space'
  return error.message
}

const EDITS_MAX = 3
const COMPARED_CHARS_MAX = 64

/**
 * The candidate with the smallest edit distance from a misspelt name, or null if none is near
 * enough. Allows one edit per three characters and at most three. An edit inserts, deletes or
 * replaces a character, or swaps two neighbours. Ignores case.
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

/** The optimal string alignment distance of two texts. Keeps only three rows of the matrix. */
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
