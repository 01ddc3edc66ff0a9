// Schemas shared by the contract's groups: ids, times, pages, free JSON.

import Type, { type Static, type TSchema } from 'typebox'
import { limits } from './limits.ts'

/** RFC 3339 with an offset; replies carry UTC with exactly six fractional digits and `Z`. */
export const Timestamp = Type.String({
  format: 'timestamp',
  examples: ['2026-01-31T09:30:00.000000Z'],
})

/** A memory's number, unique per tenant. */
export const Ref = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

/** A caller's label: any text without control characters. */
export const Label = Type.String({ minLength: 1, maxLength: limits.label_chars, format: 'label' })

export const Hex16 = Type.String({ pattern: '^[0-9a-f]{32}$' })
export const Hex32 = Type.String({ pattern: '^[0-9a-f]{64}$' })
export const Base64 = Type.String({ pattern: '^[A-Za-z0-9+/]*={0,2}$' })

export const JsonObject = Type.Record(Type.String(), Type.Unknown())

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

export const Limit = (bounds: { min: number; max: number; default: number }) =>
  Type.Optional(Type.Integer({ minimum: bounds.min, maximum: bounds.max, default: bounds.default }))
export const Offset = Type.Optional(
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }),
)
export const Cursor = Type.Optional(Type.String({ minLength: 1, maxLength: 512 }))

const pageTail = {
  count: Type.Integer(),
  limit: Type.Integer(),
  offset: Type.Integer(),
  next_cursor: Nullable(Type.String()),
}

/** The envelope of every list: the item array first, then where the page stands. */
export const page = <const K extends string, T extends TSchema>(key: K, item: T) =>
  Type.Object({ [key]: Type.Array(item), ...pageTail } as {
    [P in K]: ReturnType<typeof Type.Array<T>>
  } & typeof pageTail)

export type JsonObject = Static<typeof JsonObject>
