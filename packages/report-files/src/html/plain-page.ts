// A plain document as one self-contained page.

import type { Block, PlainDocument } from '../plain/plain-document.ts'
import { escaped, STYLE, table } from './page.ts'

const FIELDS = `.facts th, .facts td { overflow-wrap: anywhere } .facts td { white-space: pre-wrap }
.facts tr { break-inside: auto }`

export const htmlDocument = ({ about, title, foot, created_at, blocks }: PlainDocument): string =>
  [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<link rel="icon" href="data:,">',
    `<title>${escaped(title)}</title><style>${STYLE}${FIELDS}</style></head><body>`,
    `<header><p>${escaped(about)}</p><h1 dir="auto">${escaped(title)}</h1>`,
    `<p>${escaped(created_at)}</p></header><main>`,
    ...blocks.map(blockHtml),
    `</main><footer><p class="small">${escaped(foot)}</p></footer></body></html>\n`,
  ].join('\n')

function blockHtml(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `<h${block.level} dir="auto">${escaped(block.text)}</h${block.level}>`
    case 'text': {
      const text = escaped(block.text)
      return `<p dir="auto">${block.strong ? `<strong>${text}</strong>` : text}</p>`
    }
    case 'fields': {
      const rows = block.rows.map(
        ([name, value]) =>
          `<tr><th scope="row">${escaped(name)}</th><td dir="auto">${escaped(value)}</td></tr>`,
      )
      return `<table class="facts"><tbody>${rows.join('\n')}</tbody></table>`
    }
    case 'table':
      return table(
        block.heads.map(escaped),
        block.rows.map((row) => row.map(escaped)),
      )
  }
}
