// The text of a file to import, piece by piece: as it is, or of the conversations inside a ZIP.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { type Entry, openPromise } from 'yauzl'
import { CommandError } from '../command.ts'

const CHUNK_BYTES = 64 * 1024
const ZIP = Buffer.from('PK\u0003\u0004')
const CONVERSATIONS = /(^|\/)conversations[^/]*\.json$/

/** One text of the file; a ZIP may have several. */
interface InputText {
  /** The name inside a ZIP; empty for a file that is none. */
  readonly name: string
  readonly chunks: AsyncIterable<string>
}

/** Hex SHA-256 of the bytes. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES }))
    hash.update(chunk)
  return hash.digest('hex')
}

export async function* readInputs(path: string): AsyncGenerator<InputText> {
  if (await isZip(path)) yield* readZip(path)
  else yield { name: '', chunks: decode(createReadStream(path, { highWaterMark: CHUNK_BYTES })) }
}

async function isZip(path: string): Promise<boolean> {
  const file = await openFile(path)
  try {
    const { buffer } = await file.read(Buffer.alloc(ZIP.length), 0, ZIP.length, 0)
    return buffer.equals(ZIP)
  } finally {
    await file.close()
  }
}

async function* readZip(path: string): AsyncGenerator<InputText> {
  const zip = await openZip(path)
  try {
    const entries: Entry[] = []
    for await (const entry of zip.eachEntry()) {
      if (CONVERSATIONS.test(entry.fileName)) entries.push(entry)
    }
    if (entries.length === 0) throw new CommandError(`${path} has no conversations.json in it`)
    for (const entry of entries.sort((a, b) => (a.fileName < b.fileName ? -1 : 1)))
      yield { name: entry.fileName, chunks: decode(await zip.openReadStreamPromise(entry)) }
  } finally {
    zip.close()
  }
}

async function openZip(path: string) {
  try {
    return await openPromise(path, { lazyEntries: true, autoClose: false })
  } catch (error) {
    throw new CommandError(
      `${path} is no readable ZIP: ${error instanceof Error ? error.message : ''}`,
    )
  }
}

async function* decode(bytes: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for await (const chunk of bytes) yield decoder.decode(chunk, { stream: true })
    yield decoder.decode()
  } catch (error) {
    if (error instanceof TypeError) throw new CommandError('the file is not UTF-8 text')
    throw error
  }
}
