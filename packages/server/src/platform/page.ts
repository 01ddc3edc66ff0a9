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
  /**
   * The last row of the previous page: its position in the order of the list (mostly its time or
   * log position), and its id where positions are times. If set, the page starts after this row
   * instead of at `offset`.
   */
  readonly after: { readonly at: number; readonly id: string } | null
  /**
   * The list's envelope; a full page carries the cursor of the next page. With `end`, the next page
   * starts after that row, whatever is added to the list or removed from it in the meantime.
   */
  envelope<const K extends string, T>(
    key: K,
    items: T[],
    end?: Page['after'],
  ): { [P in K]: T[] } & {
    count: number
    limit: number
    offset: number
    next_cursor: string | null
  }
}

/**
 * Reads the page options of a query. Refuses a cursor that this service did not issue, or issued
 * for another list.
 * @param list the id of the operation that lists
 */
export function pageOf(query: PageQuery | undefined, fallback: number, list: string): Page {
  const limit = query?.limit ?? fallback
  const { offset, after } =
    query?.cursor === undefined
      ? { offset: query?.offset ?? 0, after: null }
      : readRow(query.cursor, list)
  return {
    limit,
    offset,
    after,
    envelope: (key, items, end = null) => ({
      // The item array comes first: existing clients page by the first list they find.
      ...({ [key]: items } as { [P in typeof key]: typeof items }),
      count: items.length,
      limit,
      offset,
      next_cursor: items.length === limit ? writeRow(list, offset + limit, end) : null,
    }),
  }
}

/** Encodes a cursor for a list; `place` is the position, in a format of the list's own. */
export const writeCursor = (list: string, place: string): string =>
  Buffer.from(`${place}~${list}`).toString('base64url')

/**
 * Decodes a cursor into the parts of its position. Refuses a cursor in another format or of another
 * list. Cursors of earlier versions name no list and are accepted.
 */
export function readCursor(cursor: string, list: string, form: RegExp): RegExpExecArray {
  const text = Buffer.from(cursor, 'base64url').toString()
  const [place = '', named = list, ...rest] = text.split('~')
  const match = form.exec(place)
  // Base64 decoding is lenient; only the exact spelling that was issued is valid.
  const isSpelled = Buffer.from(text).toString('base64url') === cursor
  if (!match || !isSpelled || named !== list || rest.length > 0)
    throw new Refusal('rejected', 'the cursor is not one this list gave')
  return match
}

function writeRow(list: string, offset: number, end: Page['after']): string {
  return writeCursor(list, end === null ? `o${offset}` : `o${offset}.${end.at}.${end.id}`)
}

function readRow(cursor: string, list: string): Pick<Page, 'offset' | 'after'> {
  const form = /^o(\d{1,15})(?:\.(\d{1,16})\.([\w-]{0,256}))?$/
  const [, offset, at, id = ''] = readCursor(cursor, list, form)
  return { offset: Number(offset), after: at === undefined ? null : { at: Number(at), id } }
}
