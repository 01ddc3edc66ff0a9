// Types of the used part of pdfkit, which has none (from its guide, version 0.20).

declare module 'pdfkit' {
  import type { Readable } from 'node:stream'

  export interface TextOptions {
    readonly width?: number
    readonly align?: 'left' | 'right' | 'center'
    readonly lineBreak?: boolean
    readonly lineGap?: number
    /** The named destination of a link. */
    readonly goTo?: string
  }

  export interface StructureOptions {
    readonly title?: string
    readonly alt?: string
    /** The text that the drawing represents. */
    readonly actual?: string
    readonly scope?: 'Column' | 'Row'
    readonly bbox?: readonly [number, number, number, number]
  }

  export interface Structure {
    add(child: Structure): this
    end(): void
  }

  export interface Outline {
    addItem(title: string): Outline
  }

  export class PDFDocument extends Readable {
    constructor(options: object)
    y: number
    readonly page: {
      readonly width: number
      readonly height: number
      readonly margins: { top: number; bottom: number; left: number; right: number }
    }
    readonly outline: Outline
    /** The current font. */
    readonly _font: { readonly font: { hasGlyphForCodePoint(codePoint: number): boolean } }
    registerFont(name: string, path: string): this
    font(name: string): this
    fontSize(points: number): this
    fillColor(color: string): this
    strokeColor(color: string): this
    lineWidth(points: number): this
    text(text: string, x: number, y: number, options?: TextOptions): this
    widthOfString(text: string, options?: TextOptions): number
    heightOfString(text: string, options?: TextOptions): number
    rect(x: number, y: number, width: number, height: number): this
    circle(x: number, y: number, radius: number): this
    moveTo(x: number, y: number): this
    lineTo(x: number, y: number): this
    clip(): this
    fill(color?: string): this
    stroke(color?: string): this
    fillAndStroke(fill: string, stroke: string): this
    save(): this
    restore(): this
    addPage(): this
    bufferedPageRange(): { readonly start: number; readonly count: number }
    switchToPage(n: number): unknown
    addNamedDestination(name: string): void
    struct(type: string, options?: StructureOptions, draw?: () => void): Structure
    addStructure(structure: Structure): this
    markContent(tag: 'Artifact', options?: { readonly type: string }): this
    endMarkedContent(): this
    end(): void
  }
}
