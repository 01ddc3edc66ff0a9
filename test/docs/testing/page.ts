// Reads a page of the documentation: its code blocks, in order, with what they are written in.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..', '..', '..')

export interface Block {
  /** The word after the fence: `sh`, `json`, `text`, `python`. */
  readonly language: string
  readonly text: string
  /** Of the first line inside the fence, from 1. */
  readonly line: number
}

export const readPage = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** The part of a page from a heading to the next of the same level. Throws when there is none. */
export function sectionOf(page: string, heading: string): string {
  const start = page.indexOf(`\n${heading}\n`)
  if (start < 0) throw new Error(`the page has no heading "${heading}"`)
  const level = heading.slice(0, heading.indexOf(' ') + 1)
  const end = page.indexOf(`\n${level}`, start + heading.length + 1)
  return page.slice(start, end < 0 ? undefined : end)
}

/** The fenced blocks of a text; a block inside a list is taken without its indentation. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = []
  const lines = page.split('\n')
  for (let at = 0; at < lines.length; at += 1) {
    const [, indent, language] = /^( *)```(\w+)$/.exec(lines[at] ?? '') ?? []
    if (indent === undefined || language === undefined) continue
    const first = at + 1
    while (at + 1 < lines.length && lines[at + 1] !== `${indent}\`\`\``) at += 1
    const inner = lines.slice(first, at + 1).map((line) => line.slice(indent.length))
    blocks.push({ language, text: inner.join('\n'), line: first + 1 })
    at += 1
  }
  return blocks
}
