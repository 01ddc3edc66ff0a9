// A tagged PDF of A4 pages that fill from the top: headings, paragraphs, lists, contents, page
// edges.

import { fileURLToPath } from 'node:url'
import { PDFDocument, type Structure, type StructureOptions } from 'pdfkit'
import { lettersOf } from './letters.ts'

export const LEFT = 50
export const WIDTH = 495
const TOP = 66
const BOTTOM = 780
const PAGE_HEIGHT = 842
const MARGINS = { top: TOP, bottom: PAGE_HEIGHT - BOTTOM, left: LEFT, right: LEFT }

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
/** Space below a paragraph. */
export const GAP = 4

interface DocumentInfo {
  readonly title: string
  /** Running head of every page but the first. */
  readonly running: string
  /** Footer of every page. */
  readonly foot: string
  readonly created: Date
  readonly subject: string
  /** Part of the metadata, from which PDFKit computes the file identifier. */
  readonly keywords: string
}

/** The document being written; coordinates are points from the top left. */
export class Paper {
  readonly doc: PDFDocument
  readonly #about: DocumentInfo
  readonly #root: Structure
  #parent: Structure
  readonly #bookmarks: { readonly title: string; readonly page: number }[] = []
  #contents: Contents | undefined
  /** Vertical position of the next element. */
  y = TOP
  /** Whether a character was replaced by its code point, because the font lacks it. */
  hasNamedCharacters = false

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
      // No default font: only the embedded ones are used.
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

  /** Height left on the page. */
  get spaceLeft(): number {
    return BOTTOM - this.y
  }

  /** Adds a page unless this one has the height left. */
  ensureSpace(height: number): void {
    if (height > this.spaceLeft && this.y > TOP) this.addPage()
  }

  addPage(): void {
    this.doc.addPage()
    this.y = TOP
  }

  moveDown(points: number): void {
    this.y += points
  }

  /** `text` with the characters that the font lacks replaced by their code points. */
  toDrawable(text: string): string {
    const { text: shown, named } = lettersOf(text, (codePoint) =>
      this.doc._font.font.hasGlyphForCodePoint(codePoint),
    )
    this.hasNamedCharacters ||= named
    return shown
  }

  applyStyle({ size, bold = false, color = INK }: Style): void {
    this.doc
      .font(bold ? 'bold' : 'regular')
      .fontSize(size)
      .fillColor(color)
  }

  heightOf(text: string, style: Style, width = WIDTH): number {
    this.applyStyle(style)
    return this.doc.heightOfString(this.toDrawable(text), { width, lineGap: LINE_GAP })
  }

  /** Draws one tagged element of the structure tree. */
  tag(type: string, options: StructureOptions, draw: () => void): void {
    const structure = this.doc.struct(type, options, draw)
    this.#parent.add(structure)
    structure.end()
  }

  /** Makes the elements that `draw` tags children of one element. */
  group(type: string, draw: () => void): void {
    const [outer, structure] = [this.#parent, this.doc.struct(type)]
    outer.add(structure)
    this.#parent = structure
    draw()
    structure.end()
    this.#parent = outer
  }

  /** Draws decoration that screen readers skip: rules, borders, running heads and footers. */
  artifact(draw: () => void, type = 'Layout'): void {
    this.doc.markContent('Artifact', { type })
    draw()
    this.doc.endMarkedContent()
  }

  /** Draws text at (x, y), regardless of the space left on the page. */
  textAt(
    text: string,
    [x, y]: readonly [number, number],
    style: Style,
    box: Parameters<PDFDocument['text']>[3] = {},
  ): void {
    this.applyStyle(style)
    this.doc.text(this.toDrawable(text), x, y, { lineGap: LINE_GAP, ...box })
  }

  heading(level: 1 | 2 | 3, text: string, { keep = 60 } = {}): void {
    const style = { size: HEADINGS[level], bold: true }
    const height = this.heightOf(text, style)
    const above = level === 1 || this.y === TOP ? 0 : level === 2 ? 16 : 12
    this.ensureSpace(above + height + keep)
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
    this.ensureSpace(height)
    this.tag('P', {}, () => this.textAt(text, [LEFT, this.y], style, { width: WIDTH }))
    this.y += height + GAP
  }

  /** Draws an item of a list. */
  item(text: string, style: Style): void {
    const width = WIDTH - INDENT
    const height = this.heightOf(text, style, width)
    this.ensureSpace(height)
    this.group('LI', () => {
      this.tag('Lbl', {}, () => this.textAt('•', [LEFT, this.y], style, { lineBreak: false }))
      this.tag('LBody', {}, () => this.textAt(text, [LEFT + INDENT, this.y], style, { width }))
    })
    this.y += height + GAP
  }

  /** Adds this page to the outline and the table of contents. */
  bookmark(title: string): void {
    this.doc.outline.addItem(title)
    this.#bookmarks.push({ title, page: this.doc.bufferedPageRange().count })
  }

  /** Reserves the rest of the page for the table of contents, which `finish` draws. */
  contents(): void {
    this.heading(3, 'Contents', { keep: ENTRIES_MAX * ENTRY })
    const list = this.doc.struct('TOC')
    this.#parent.add(list)
    this.#contents = { list, y: this.y, page: this.doc.bufferedPageRange().count - 1 }
  }

  // Called by `finish`, when the page numbers are known.
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

  /** Makes this page the target of links with this name. */
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
      // Otherwise PDFKit would add a page for the footer.
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
    const foot = PAGE_HEIGHT - 40
    this.rule(foot - 6, 0.5)
    this.textAt(this.#about.foot, [LEFT, foot], style, one)
    this.textAt(`page ${page} of ${count}`, [LEFT, foot], style, { ...one, align: 'right' })
    if (page === 1) return
    this.textAt(this.#about.subject, [LEFT, 38], style, one)
    this.textAt(this.#about.running, [LEFT, 38], style, { ...one, align: 'right' })
    this.rule(50, 0.5)
  }
}

interface Contents {
  readonly list: Structure
  readonly y: number
  readonly page: number
}

/** Height of a line of the contents, and the most lines, those of a report of all frameworks. */
const ENTRY = 14
const ENTRIES_MAX = 12
const HEADINGS = { 1: 22, 2: 15, 3: 11 } as const

const fontPath = (name: string): string =>
  fileURLToPath(new URL(`./fonts/${name}`, import.meta.url))
