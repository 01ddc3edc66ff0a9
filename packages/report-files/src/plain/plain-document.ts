// A document of headings, texts and fields, from which a page and a PDF are made.

import type { JsonObject } from '@custos/contract'

export type Block =
  | { readonly kind: 'heading'; readonly level: 2 | 3; readonly text: string }
  | { readonly kind: 'text'; readonly text: string; readonly strong?: true }
  | { readonly kind: 'fields'; readonly rows: readonly (readonly [string, string])[] }
  | {
      readonly kind: 'table'
      readonly heads: readonly string[]
      readonly rows: string[][]
      /** Column widths as shares of the page width; default: half of it for the last column. */
      readonly shares?: readonly number[]
    }

export interface PlainDocument {
  /** Text above the title and in the header of every page. */
  readonly about: string
  readonly title: string
  /** Footer of every page. The identifier of a PDF depends on it. */
  readonly foot: string
  readonly created_at: string
  readonly blocks: readonly Block[]
}

/**
 * Every value of a record with its path. A list of texts and numbers is one value, unless a text
 * in it contains a comma.
 * @param omitted paths of the members to leave out, with dots between names
 */
export function listFields(record: JsonObject, omitted: readonly string[] = []) {
  const rows: [string, string][] = []
  const visit = (path: readonly string[], value: unknown): void => {
    if (value === null || value === undefined || value === '') return
    if (omitted.includes(path.join('.'))) return
    if (typeof value !== 'object') rows.push([labelOf(path), String(value)])
    else if (Array.isArray(value) && value.every(isListed)) {
      if (value.length > 0) rows.push([labelOf(path), value.join(', ')])
    } else
      for (const [name, member] of Object.entries(value))
        visit([...path, Array.isArray(value) ? String(Number(name) + 1) : name], member)
  }
  visit([], record)
  return rows
}

const isListed = (item: unknown): boolean =>
  typeof item === 'string' ? !item.includes(',') : typeof item !== 'object'

const labelOf = (path: readonly string[]): string =>
  path.map((name) => name.replaceAll('_', ' ')).join(' · ')
