// A document of headings, texts and fields: what a page and a PDF of it are made from.

import type { JsonObject } from '@custos/contract'

export type Block =
  | { readonly kind: 'heading'; readonly level: 2 | 3; readonly text: string }
  | { readonly kind: 'text'; readonly text: string; readonly strong?: true }
  | { readonly kind: 'fields'; readonly rows: readonly (readonly [string, string])[] }
  | { readonly kind: 'table'; readonly heads: readonly string[]; readonly rows: string[][] }

export interface PlainDocument {
  /** Above the title, and at the head of every page. */
  readonly about: string
  readonly title: string
  /** At the foot of every page; also decides the identifier of a PDF. */
  readonly foot: string
  readonly created_at: string
  readonly blocks: readonly Block[]
}

/** Every value of a record by the path to it; lists of texts and numbers are one value. */
export function listFields(record: JsonObject, omitted: readonly string[] = []) {
  const rows: [string, string][] = []
  const visit = (path: string, value: unknown): void => {
    if (value === null || value === undefined || value === '') return
    if (typeof value !== 'object') rows.push([path, String(value)])
    else if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) {
      if (value.length > 0) rows.push([path, value.join(', ')])
    } else
      for (const [name, member] of Object.entries(value)) {
        const label = Array.isArray(value) ? String(Number(name) + 1) : name.replaceAll('_', ' ')
        visit(path === '' ? label : `${path} · ${label}`, member)
      }
  }
  for (const [name, value] of Object.entries(record))
    if (!omitted.includes(name)) visit(name.replaceAll('_', ' '), value)
  return rows
}
