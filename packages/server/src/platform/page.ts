// Pages of lists: limit and offset, or the cursor that continues a page.

import { Refusal } from './refusal.ts'

export interface PageQuery {
  readonly limit?: number
  readonly offset?: number
  readonly cursor?: string
}

export interface Page {
  readonly limit: number
  readonly offset: number
  /** The list's envelope; a full page carries the cursor of the next one. */
  envelope<const K extends string, T>(
    key: K,
    items: T[],
  ): { [P in K]: T[] } & {
    count: number
    limit: number
    offset: number
    next_cursor: string | null
  }
}

/** Refuses a cursor that this service did not make. */
export function pageOf(query: PageQuery | undefined, fallback: number): Page {
  const limit = query?.limit ?? fallback
  const offset = query?.cursor === undefined ? (query?.offset ?? 0) : readCursor(query.cursor)
  return {
    limit,
    offset,
    envelope: (key, items) => ({
      // The item array comes first: existing clients page by the first list they find.
      ...({ [key]: items } as { [P in typeof key]: typeof items }),
      count: items.length,
      limit,
      offset,
      next_cursor: items.length === limit ? writeCursor(offset + limit) : null,
    }),
  }
}

const writeCursor = (offset: number): string => Buffer.from(`o${offset}`).toString('base64url')

function readCursor(cursor: string): number {
  const match = /^o(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match) throw new Refusal('rejected', 'the cursor is not one this list gave')
  return Number(match[1])
}
