// Reads the text out of a PDF as pdfkit writes it: enough to find what a page says.

import assert from 'node:assert/strict'
import { inflateSync } from 'node:zlib'

interface Item {
  readonly text: string
  readonly x: number
  /** From the top of the sheet, in points. */
  readonly y: number
}

export interface ReadPdf {
  /** The words of each page in the order they are drawn. */
  readonly pages: readonly { readonly text: string; readonly items: readonly Item[] }[]
  /** Dictionaries as they are written, streams left out. */
  readonly dictionaries: readonly string[]
}

interface Part {
  readonly dictionary: string
  readonly stream: Buffer | null
}

const SHEET = 841.89

export function readPdf(file: Uint8Array): ReadPdf {
  const parts = partsOf(Buffer.from(file))
  const page = [...parts.values()].find(({ dictionary }) => /\/Type \/Pages\b/.test(dictionary))
  assert(page, 'the file has no pages')
  const kids = /\/Kids \[([^\]]*)\]/.exec(page.dictionary)?.[1] ?? ''
  const pages = [...kids.matchAll(/(\d+) 0 R/g)].map(([, number]) => {
    const { dictionary } = partAt(parts, number)
    const resources = partAt(parts, referred(dictionary, 'Resources')).dictionary
    const letters = new Map(
      [...(/\/Font <<([^>]*)>>/.exec(resources)?.[1] ?? '').matchAll(/\/(\w+) (\d+) 0 R/g)].map(
        ([, name = '', font]) => [name, lettersOf(parts, font)],
      ),
    )
    const stream = partAt(parts, referred(dictionary, 'Contents')).stream
    const items = itemsOf((stream ?? Buffer.alloc(0)).toString('latin1'), letters)
    return {
      items,
      text: items
        .map(({ text }) => text)
        .join(' ')
        .replaceAll(/\s+/g, ' '),
    }
  })
  return { pages, dictionaries: [...parts.values()].map(({ dictionary }) => dictionary) }
}

function partsOf(file: Buffer): Map<string, Part> {
  const parts = new Map<string, Part>()
  for (const match of file.toString('latin1').matchAll(/(\d+) 0 obj\n([\s\S]*?)endobj/g)) {
    const [, number = '', body = ''] = match
    const [dictionary = '', stream] = body.split(/stream\n/, 2)
    const bytes = stream === undefined ? null : Buffer.from(stream, 'latin1')
    const packed = bytes && dictionary.includes('FlateDecode')
    parts.set(number, { dictionary, stream: packed ? inflateSync(bytes) : bytes })
  }
  return parts
}

function partAt(parts: Map<string, Part>, number: string | undefined): Part {
  const part = parts.get(number ?? '')
  assert(part, `the file has no object ${number}`)
  return part
}

const referred = (dictionary: string, name: string): string | undefined =>
  new RegExp(`/${name} (\\d+) 0 R`).exec(dictionary)?.[1]

/** What each code of a font stands for (PDF 1.7, 9.10.3). */
function lettersOf(parts: Map<string, Part>, font: string | undefined): readonly string[] {
  const { dictionary } = partAt(parts, font)
  const map = partAt(parts, referred(dictionary, 'ToUnicode')).stream?.toString('latin1') ?? ''
  const letters: string[] = []
  for (const [, start = '0', codes = ''] of map.matchAll(/<(\w{4})> <\w{4}> \[([^\]]*)\]/g))
    for (const [i, [, units = '']] of [...codes.matchAll(/<([\w ]*)>/g)].entries())
      letters[Number.parseInt(start, 16) + i] = String.fromCharCode(
        ...units.split(' ').map((unit) => Number.parseInt(unit, 16)),
      )
  return letters
}

/** Texts of a page's operators, each at the place its matrix says. */
function itemsOf(content: string, fonts: ReadonlyMap<string, readonly string[]>): Item[] {
  const items: Item[] = []
  let [letters, x, y]: [readonly string[], number, number] = [[], 0, 0]
  for (const line of content.split('\n')) {
    const font = /^\/(\w+) [\d.]+ Tf$/.exec(line)
    const matrix = /^1 0 0 1 ([\d.-]+) ([\d.-]+) Tm$/.exec(line)
    if (font) letters = fonts.get(font[1] ?? '') ?? []
    if (matrix) [x, y] = [Number(matrix[1]), SHEET - Number(matrix[2])]
    if (!line.endsWith(' TJ')) continue
    const codes = [...line.matchAll(/<([0-9a-f]+)>/g)].flatMap(([, hex = '']) => hex.match(/.{4}/g))
    const text = codes.map((code) => letters[Number.parseInt(String(code), 16)] ?? '?').join('')
    items.push({ text, x, y })
  }
  return items
}
