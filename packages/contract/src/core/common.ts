// Schemas that all groups of operations share: ids, times, pages and free-form JSON.

import Type, { type Static, type TNumberOptions, type TSchema, type TStringOptions } from 'typebox'
import { limits } from './limits.ts'

/**
 * Describes a field. The contract documents itself in openapi.json by these rules:
 * - A schema with a `title` is written once, under that name, and referenced elsewhere. Every
 *   schema that is used in two places has one.
 * - A field takes its description from the first of: `about` at the place of use, the
 *   `description` of an unnamed schema, and the entry for its name in `fieldDescriptions`.
 * None of these keywords takes part in validation.
 */
export const about = <T extends TSchema>(schema: T, description: string): T =>
  // A spread alone would lose the hidden member that marks an optional field.
  Object.defineProperties(
    { ...schema, about: description },
    Object.getOwnPropertyDescriptors(schema),
  )

export const text = (description: string, options: TStringOptions = {}) =>
  Type.String({ ...options, description })
export const boolean = (description: string) => Type.Boolean({ description })
export const number = (description: string, options: TNumberOptions = {}) =>
  Type.Number({ ...options, description })
export const integer = (description: string, options: TNumberOptions = {}) =>
  Type.Integer({ ...options, description })

/** A whole number from 0. */
export const count = (description: string) => Type.Integer({ minimum: 0, description })
/** A time field with this description. */
export const time = (description: string) => about(Timestamp, description)

/** RFC 3339 with an offset; replies carry UTC with exactly six fractional digits and `Z`. */
export const Timestamp = Type.String({
  title: 'Timestamp',
  description:
    'An RFC 3339 time with an offset. Replies are in UTC with six fractional digits and `Z`.',
  format: 'timestamp',
  examples: ['2026-01-31T09:30:00.000000Z'],
})

/**
 * A date or time that does not affect validity, such as when something happened, or the start or
 * end of a period.
 */
const DateOrTime = Type.String({
  title: 'DateOrTime',
  description:
    'An ISO 8601 calendar date or time, in UTC unless it has an offset. A date alone is its ' +
    'midnight, and as the end of a period it includes the whole day.',
  format: 'date_or_time',
  examples: ['2026-01-31', '2026-01-31T09:30', '2026-01-31T09:30:00+02:00'],
})
export const dateOrTime = (description: string) => about(DateOrTime, description)

/** The number of a memory, unique per tenant. */
export const Ref = Type.Integer({
  title: 'MemoryRef',
  description: 'The number of a memory, unique within the tenant',
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
})

const labelRules = { minLength: 1, maxLength: limits.label_chars, format: 'label' } as const

/** A text chosen by the caller, without control characters. */
export const Label = Type.String({
  title: 'Label',
  description: 'A text of 1 to 256 characters without control characters',
  ...labelRules,
})

/** The pattern of a text that is not only white space. */
export const NOT_BLANK = '\\S'

/** A label with other bounds or a more specific meaning. */
export const label = (options: TStringOptions) => Type.String({ ...labelRules, ...options })

/** A label with a default. */
export const labelOr = (fallback: string, description: string) =>
  about({ ...Label, default: fallback }, description)

export const Name = label({
  title: 'Name',
  description: 'A text of 1 to 200 characters without control characters',
  maxLength: limits.name_chars,
})

/** The reason that a person gives for an action. */
export const Reason = Type.String({
  title: 'Reason',
  description: 'A text of at most 2,000 characters without control characters',
  maxLength: limits.reason_chars,
  format: 'label',
})

export const Hex12 = Type.String({
  title: 'Hex12',
  description: '12 bytes in lower-case hexadecimal',
  pattern: '^[0-9a-f]{24}$',
})
export const Hex16 = Type.String({
  title: 'Hex16',
  description: '16 bytes in lower-case hexadecimal',
  pattern: '^[0-9a-f]{32}$',
})
export const Hex32 = Type.String({
  title: 'Hex32',
  description: '32 bytes in lower-case hexadecimal',
  pattern: '^[0-9a-f]{64}$',
})
export const Base64 = Type.String({
  title: 'Base64',
  description: 'Bytes in base64 with padding (RFC 4648, section 4)',
  pattern: '^[A-Za-z0-9+/]*={0,2}$',
})

export const JsonObject = Type.Record(Type.String(), Type.Unknown())
export type JsonObject = Static<typeof JsonObject>

/** The body of an operation without input. */
export const EmptyBody = Type.Object(
  {},
  { title: 'EmptyBody', description: 'An object without members' },
)

/** A whole number from 0. */
export const Count = Type.Integer({ minimum: 0 })

/** Number of records for each key. */
export const Counts = Type.Record(Type.String(), Type.Integer(), {
  title: 'Counts',
  description: 'Counts by key; keys with a count of 0 may be absent',
})

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
export const OptionalNullable = <T extends TSchema>(schema: T) => Type.Optional(Nullable(schema))

export const Limit = (bounds: { min: number; max: number; default: number }) =>
  Type.Optional(Type.Integer({ minimum: bounds.min, maximum: bounds.max, default: bounds.default }))
export const Offset = Type.Optional(
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }),
)
export const Cursor = Type.Optional(Type.String({ minLength: 1, maxLength: 512 }))

const pageTail = {
  count: integer('Number of items in this page'),
  limit: Type.Integer(),
  offset: Type.Integer(),
  next_cursor: Nullable(Type.String()),
}

/** The envelope of every list: the items, then the position of the page. */
export const page = <const K extends string, T extends TSchema>(key: K, item: T) =>
  Type.Object({
    [key]: Type.Array(item, { description: 'The items of this page' }),
    ...pageTail,
  } as {
    [P in K]: ReturnType<typeof Type.Array<T>>
  } & typeof pageTail)

/** One step of a verification. */
export const NamedCheck = Type.Object(
  {
    name: text('Name of the check'),
    ok: boolean('Whether the check passed'),
    detail: Type.Optional(text('What the check found')),
  },
  { title: 'NamedCheck', description: 'The result of one step of a verification' },
)

/** An id in a path. Any text is valid, because an unknown id is answered with 404. */
export const pathId = (options: TStringOptions) => Type.String(options)

export const TenantParams = Type.Object({ tenant_id: pathId({ examples: ['local'] }) })
