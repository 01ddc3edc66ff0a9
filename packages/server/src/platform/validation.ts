// Schema validation: compiled on first use, errors in the FastAPI list shape, never the input.

import { limits } from '@custos/contract'
import type { TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import type { TLocalizedValidationError } from 'typebox/error'
import Format from 'typebox/format'
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

Format.Set('timestamp', (text) => parseTime(text) !== null)
Format.Set('date_or_time', (text) => parseDateOrTime(text) !== null)
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses
Format.Set('label', (text) => text.isWellFormed() && !/[\u0000-\u001f\u007f-\u009f]/.test(text))

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
    this.#validator ??= Compile(this.#schema)
    if (this.#validator.Check(value)) return
    const errors = this.#validator.Errors(value)
    const detail = explain(errors, value, this.#where).slice(0, DETAILS_MAX)
    throw new Refusal('validation', undefined, { detail })
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

function explain(
  errors: readonly TLocalizedValidationError[],
  value: unknown,
  where: readonly string[],
) {
  const useful = errors.filter(({ keyword }) => !TOLD_BY_OTHERS.has(keyword))
  return collapseTypes(useful).flatMap((error): Detail[] => {
    const loc: Loc = [...where, ...segments(error.instancePath, value)]
    if (error.keyword === 'required')
      return error.params.requiredProperties.map((name) => ({
        loc: [...loc, name],
        msg: 'Field required',
        type: 'missing',
      }))
    return [{ loc, msg: messageOf(error), type: typeOf(error) }]
  })
}

// A nullable value that does not fit fails "null" besides what is wrong in it: that one says it.
function collapseTypes(errors: readonly TLocalizedValidationError[]): TLocalizedValidationError[] {
  const specific = errors.filter((error) => !isTypeNull(error)).map((error) => error.instancePath)
  const explained = ({ instancePath }: TLocalizedValidationError): boolean =>
    specific.some((path) => path === instancePath || path.startsWith(`${instancePath}/`))
  return errors.filter((error) => !isTypeNull(error) || !explained(error))
}

const isTypeNull = (error: TLocalizedValidationError): boolean =>
  error.keyword === 'type' && error.params.type === 'null'

/** JSON Pointer (RFC 6901) to a location: array positions are numbers. */
function segments(pointer: string, root: unknown): (string | number)[] {
  if (pointer === '') return []
  let at = root
  return pointer
    .slice(1)
    .split('/')
    .map((escaped) => {
      const name = escaped.replaceAll('~1', '/').replaceAll('~0', '~')
      const isIndex = Array.isArray(at)
      // Walks along to tell an array position from a key of digits.
      at = isObject(at) ? at[name] : undefined
      return isIndex ? Number(name) : name.slice(0, SEGMENT_CHARS_MAX).toWellFormed()
    })
}

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
  if (error.keyword === 'boolean') return 'there is no such property'
  return error.message
}
