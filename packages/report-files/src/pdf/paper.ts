// Sheets of A4 that fill from the top: lines, tables and drawings, each tagged for readers.

import { fileURLToPath } from 'node:url'
import { PDFDocument, type Structure, type StructureOptions } from 'pdfkit'
import { type Letters, lettersOf } from './letters.ts'

export const LEFT = 50
export const WIDTH = 495
const TOP = 66
const BOTTOM = 780
const SHEET = 842
const MARGINS = { top: TOP, bottom: SHEET - BOTTOM, left: LEFT, right: LEFT }

export const INK = '#111111'

export interface Style {
  readonly size: number
  readonly bold?: boolean
  readonly color?: string
}
export const BODY: Style = { size: 9.5 }
export const SMALL: Style = { size: 8, color: '#333333' }
const LINE_GAP = 1.5
const INDENT = 14
/** Below a paragraph. */
export const GAP = 4

interface DocumentInfo {
  readonly title: string
  /** At the head of every page but the first. */
  readonly running: string
  /** At the foot of every page. */
  readonly foot: string
  readonly created: Date
  readonly subject: string
  /** Also decides the file's identifier. */
  readonly keywords: string
}

export class Paper {
  readonly doc: PDFDocument
  readonly #about: DocumentInfo
  readonly #root: Structure
  #parent: Structure
  readonly #bookmarks: { readonly title: string; readonly page: number }[] = []
  #contents: Contents | undefined
  /** Where the next thing goes. */
  y = TOP
  /** Some character could only be named by its code point. */
  named = false

  constructor(about: DocumentInfo) {
    this.#about = about
    this.doc = new PDFDocument({
      size: 'A4',
      margins: MARGINS,
      pdfVersion: '1.7',
      tagged: true,
      lang: 'en',
      displayTitle: true,
      bufferPages: true,
      // Only those that are put into the file.
      font: null,
      info: {
        Title: about.title,
        Subject: about.subject,
        Keywords: about.keywords,
        Producer: 'Custos (PDFKit)',
        Creator: 'Custos',
        CreationDate: about.created,
        ModDate: about.created,
      },
    })
    this.doc.registerFont('regular', fontPath('DejaVuSansCondensed.ttf'))
    this.doc.registerFont('bold', fontPath('DejaVuSansCondensed-Bold.ttf'))
    this.doc.font('regular')
    this.#root = this.doc.struct('Document')
    this.doc.addStructure(this.#root)
    this.#parent = this.#root
  }

  get left(): number {
    return BOTTOM - this.y
  }

  /** A new sheet where this one has not so much left. */
  room(height: number): void {
    if (height > this.left && this.y > TOP) this.sheet()
  }

  sheet(): void {
    this.doc.addPage()
    this.y = TOP
  }

  space(points: number): void {
    this.y += points
  }

  /** What `text` is in this font. */
  letters(text: string): string {
    const { text: shown, named }: Letters = lettersOf(text, (codePoint) =>
      this.doc._font.font.hasGlyphForCodePoint(codePoint),
    )
    this.named ||= named
    return shown
  }

  use({ size, bold = false, color = INK }: Style): void {
    this.doc
      .font(bold ? 'bold' : 'regular')
      .fontSize(size)
      .fillColor(color)
  }

  heightOf(text: string, style: Style, width = WIDTH): number {
    this.use(style)
    return this.doc.heightOfString(this.letters(text), { width, lineGap: LINE_GAP })
  }

  /** Draws what a reader takes for one thing. */
  tag(type: string, options: StructureOptions, draw: () => void): void {
    const structure = this.doc.struct(type, options, draw)
    this.#parent.add(structure)
    structure.end()
  }

  /** What `draw` tags is part of one thing. */
  within(type: string, draw: () => void): void {
    const [outer, structure] = [this.#parent, this.doc.struct(type)]
    outer.add(structure)
    this.#parent = structure
    draw()
    structure.end()
    this.#parent = outer
  }

  /** Draws what says nothing: rules, borders, the heads and feet of pages. */
  artifact(draw: () => void, type = 'Layout'): void {
    this.doc.markContent('Artifact', { type })
    draw()
    this.doc.endMarkedContent()
  }

  /** A text that begins at (x, y), whatever is left of the sheet. */
  textAt(text: string, [x, y]: readonly [number, number], style: Style, box: TextBox = {}): void {
    this.use(style)
    this.doc.text(this.letters(text), x, y, { lineGap: LINE_GAP, ...box })
  }

  heading(level: 1 | 2 | 3, text: string, { keep = 60 } = {}): void {
    const style = { size: HEADINGS[level], bold: true }
    const height = this.heightOf(text, style)
    const above = level === 1 || this.y === TOP ? 0 : level === 2 ? 16 : 12
    this.room(above + height + keep)
    if (this.y > TOP) this.y += above
    this.tag(`H${level}`, { title: text }, () =>
      this.textAt(text, [LEFT, this.y], style, { width: WIDTH }),
    )
    this.y += height + 3
    if (level === 2) {
      this.artifact(() => this.rule(this.y, 1.2))
      this.y += 6
    }
  }

  rule(y: number, width: number): void {
    this.doc
      .lineWidth(width)
      .moveTo(LEFT, y)
      .lineTo(LEFT + WIDTH, y)
      .stroke(INK)
  }

  paragraph(text: string, style: Style = BODY): void {
    const height = this.heightOf(text, style)
    this.room(height)
    this.tag('P', {}, () => this.textAt(text, [LEFT, this.y], style, { width: WIDTH }))
    this.y += height + GAP
  }

  /** One of a list. */
  item(text: string, style: Style): void {
    const width = WIDTH - INDENT
    const height = this.heightOf(text, style, width)
    this.room(height)
    this.within('LI', () => {
      this.tag('Lbl', {}, () => this.textAt('•', [LEFT, this.y], style, { lineBreak: false }))
      this.tag('LBody', {}, () => this.textAt(text, [LEFT + INDENT, this.y], style, { width }))
    })
    this.y += height + GAP
  }

  /** Of this sheet, in the outline and the contents. */
  bookmark(title: string): void {
    this.doc.outline.addItem(title)
    this.#bookmarks.push({ title, page: this.doc.bufferedPageRange().count })
  }

  /** Leaves the rest of the sheet to the table of contents. */
  contents(): void {
    this.heading(3, 'Contents', { keep: ENTRIES_MAX * ENTRY })
    const list = this.doc.struct('TOC')
    this.#parent.add(list)
    this.#contents = { list, y: this.y, page: this.doc.bufferedPageRange().count - 1 }
  }

  // When the pages are known.
  #drawContents({ list, y, page: own }: Contents): void {
    this.doc.switchToPage(own)
    this.#parent = list
    this.y = y
    for (const { title, page } of this.#bookmarks) {
      this.tag('TOCI', {}, () => {
        this.textAt(title, [LEFT, this.y], BODY, { lineBreak: false })
        this.textAt(String(page), [LEFT + 150, this.y], BODY, { width: 30, align: 'right' })
      })
      this.y += ENTRY
    }
    list.end()
  }

  /** Where links of this name go: this sheet. */
  destination(name: string): void {
    this.doc.addNamedDestination(name)
  }

  /** Numbers the pages and returns the file. */
  async finish(): Promise<Buffer> {
    const { doc } = this
    const { count } = doc.bufferedPageRange()
    if (this.#contents) this.#drawContents(this.#contents)
    for (let page = 0; page < count; page += 1) {
      doc.switchToPage(page)
      // What is written below the last line begins no new page.
      doc.page.margins.bottom = 0
      this.artifact(() => this.#edges(page + 1, count), 'Pagination')
    }
    this.#root.end()
    const chunks: Uint8Array[] = []
    doc.on('data', (chunk: Uint8Array) => chunks.push(chunk))
    const ended = new Promise((resolve) => doc.once('end', resolve))
    doc.end()
    await ended
    return Buffer.concat(chunks)
  }

  #edges(page: number, count: number): void {
    const style: Style = { size: 7.5, color: '#333333' }
    const one = { width: WIDTH, lineBreak: false } as const
    const foot = SHEET - 40
    this.rule(foot - 6, 0.5)
    this.textAt(this.#about.foot, [LEFT, foot], style, one)
    this.textAt(`page ${page} of ${count}`, [LEFT, foot], style, { ...one, align: 'right' })
    if (page === 1) return
    this.textAt(this.#about.subject, [LEFT, 38], style, one)
    this.textAt(this.#about.running, [LEFT, 38], style, { ...one, align: 'right' })
    this.rule(50, 0.5)
  }
}

interface TextBox {
  readonly width?: number
  readonly align?: 'left' | 'right' | 'center'
  readonly lineBreak?: boolean
  readonly goTo?: string
}

interface Contents {
  readonly list: Structure
  readonly y: number
  readonly page: number
}

/** A line of the contents; as many as a report of all frameworks has. */
const ENTRY = 14
const ENTRIES_MAX = 12
const HEADINGS = { 1: 22, 2: 15, 3: 11 } as const

const fontPath = (name: string): string =>
  fileURLToPath(new URL(`./fonts/${name}`, import.meta.url))
