// Looks for words in every file of a directory, byte by byte.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Files that hold any of the words in UTF-8 or UTF-16, and how many were read. */
export function searchFiles(
  dir: string,
  words: readonly string[],
): { files: number; hits: string[] } {
  const needles = words.flatMap((word) => [Buffer.from(word), Buffer.from(word, 'utf16le')])
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true })
  const paths = entries.filter((e) => e.isFile()).map((e) => join(e.parentPath, e.name))
  const hits = paths.filter((path) => {
    const bytes = readFileSync(path)
    return needles.some((needle) => bytes.includes(needle))
  })
  return { files: paths.length, hits }
}
