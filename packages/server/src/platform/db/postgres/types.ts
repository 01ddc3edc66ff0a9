// How PostgreSQL's types become the values SQLite gives: numbers, text and bytes.

import type { CustomTypesConfig } from 'pg'
import { InexactNumber } from './error.ts'

const BOOL = 16
const BYTEA = 17
const INT8 = 20
const INT2 = 21
const INT4 = 23
const FLOAT4 = 700
const FLOAT8 = 701
const NUMERIC = 1700

/** Parses a value's text; throws InexactNumber where a JavaScript number would not hold it. */
export const postgresTypes: CustomTypesConfig = {
  getTypeParser: (oid: number) => PARSERS[oid] ?? asText,
}

const asText = (text: string): string => text

const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  [BOOL]: (text) => (text === 't' ? 1 : 0),
  [BYTEA]: parseBytes,
  [INT8]: parseExact,
  [INT2]: Number,
  [INT4]: Number,
  [FLOAT4]: Number,
  [FLOAT8]: Number,
  // Sums and averages of bigint columns.
  [NUMERIC]: parseExact,
}

function parseExact(text: string): number {
  const value = Number(text)
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER)
    throw new InexactNumber('an integer beyond 2^53 - 1 cannot be read')
  return value
}

// Plain bytes, as node:sqlite gives them; `\x` is the server's only form since 9.0.
function parseBytes(text: string): Uint8Array {
  const { buffer, byteOffset, length } = Buffer.from(text.slice(2), 'hex')
  return new Uint8Array(buffer, byteOffset, length)
}
