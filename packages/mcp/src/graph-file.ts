// Imports the file of the official memory server into an empty graph, once.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { loadGraph } from './graph-items.ts'
import { graphLines, labelsOf } from './graph-records.ts'
import { Session, type SessionOptions } from './session.ts'

/** Number of memories in one request. */
const BLOCK = 500

/** The file is not what the official memory server writes. */
export class MemoryFileError extends Error {}

/**
 * Imports the file if the graph is empty and the file, by its SHA-256, was never fully imported.
 * The file is not changed; a missing file is an empty graph. Returns the number of memories. Throws
 * MemoryFileError before anything is stored.
 */
export async function importMemoryFile(options: SessionOptions, path: string): Promise<number> {
  const session = new Session(options)
  const { custos, store } = session
  if (options.read_only === true || !session.may('memory:write')) return 0
  const file = await readMemoryFile(path, options.namespace)
  if (file === null) return 0
  const name = { namespace: labelsOf(options.namespace, 'imports'), key: file.sha256 }
  const { item } = await custos.items.get(store, name)
  if (item?.value['complete'] === true) return 0
  if (item === null && !isEmpty(await loadGraph(session))) return 0
  const { lines, sha256 } = file
  await custos.items.put(store, { ...name, value: { sha256, complete: false } })
  let imported = 0
  for (let at = 0; at < lines.length; at += BLOCK) {
    const text = lines.slice(at, at + BLOCK).join('\n')
    imported += (await custos.memory.import(store, `${text}\n`)).imported
  }
  await custos.items.put(store, { ...name, value: { sha256, complete: true, imported } })
  return imported
}

const isEmpty = ({ entities, relations, observations }: Awaited<ReturnType<typeof loadGraph>>) =>
  entities.length + relations.length + observations.length === 0

/** Reads the import lines of the file; null if it does not exist. */
async function readMemoryFile(path: string, namespace: string | undefined) {
  const hash = createHash('sha256')
  const lines: string[] = []
  const source = createReadStream(path)
  try {
    source.on('data', (chunk) => hash.update(chunk))
    let number = 0
    for await (const text of createInterface({ input: source, crlfDelay: Infinity })) {
      number += 1
      if (text.trim() === '') continue
      const found = graphLines(parseLine(text), namespace)
      if (found === null)
        throw new MemoryFileError(`${path}: line ${number} is neither an entity nor a relation`)
      lines.push(...found.map((line) => JSON.stringify(line)))
    }
  } catch (error) {
    const { code } = Object(error)
    if (code === 'ENOENT') return null
    if (typeof code === 'string') throw new MemoryFileError(`${path} cannot be read (${code})`)
    throw error
  } finally {
    source.destroy()
  }
  return { sha256: hash.digest('hex'), lines }
}

function parseLine(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}
