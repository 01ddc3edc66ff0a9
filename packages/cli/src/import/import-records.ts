// Imports the records of another system in blocks. Each block is written completely or not at all,
// and only once even if the import is started again.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { ApiError, Custos } from '@custos/client'
import type { MemoryImportBody } from '@custos/client/types'
import { limits } from '@custos/contract/limits'
import { type Entry, openPromise } from 'yauzl'
import { commandError } from '../client-calls.ts'
import { CommandError } from '../command.ts'
import { startProgress } from '../output.ts'
import { MalformedJson, parsePiece, readJsonPieces } from './json-values.ts'
import type { MapOptions, MemorySystem } from './memory-systems.ts'

/** The most lines that the service commits in one transaction with the stored answer. */
const BLOCK_LINES = 500
const BLOCK_CHARACTERS = 2 * 1024 * 1024
const SAMPLES = 3

interface ImportPlan {
  readonly kind: string
  readonly system: MemorySystem
  readonly file: string
  readonly store: string
  readonly options: MapOptions
}

/** Counts of the records that were read so far. */
interface ImportCounts {
  records: number
  memories: number
  /** Number of skipped records and messages by reason. */
  readonly skipped: Map<string, number>
}

interface ImportTotals extends ImportCounts {
  imported: number
  /** Number of memories that the store had already. */
  duplicates: number
}

interface PlacedLine {
  readonly line: MemoryImportBody
  /** The position of the record in the file, for messages about a refusal. */
  readonly place: string
}

/** Reads the memories of the file in order. Throws CommandError for a file of another kind. */
async function* readLines(plan: ImportPlan, counts: ImportCounts): AsyncGenerator<PlacedLine> {
  for await (const { name, chunks } of readInputs(plan.file)) {
    const where = name === '' ? '' : `${name}, `
    try {
      for await (const piece of readJsonPieces(chunks, plan.system.members)) {
        const place = `${where}line ${piece.line}`
        for (const line of mapRecord(plan, parsePiece(piece), counts)) yield { line, place }
      }
    } catch (error) {
      if (!(error instanceof MalformedJson)) throw error
      throw new CommandError(`${where}line ${error.line}: ${error.message}`)
    }
  }
  if (counts.records === 0) throw wrongKind(plan)
}

const wrongKind = ({ file, system }: ImportPlan): CommandError =>
  new CommandError(`${file} is not of this kind: expected ${system.expected}`)

function mapRecord(
  plan: ImportPlan,
  record: ReturnType<typeof parsePiece>,
  counts: ImportCounts,
): MemoryImportBody[] {
  const mapped = plan.system.map(record, plan.options)
  // Thrown only for the first record, before anything is written.
  if (mapped === null && counts.records === 0) throw wrongKind(plan)
  counts.records += 1
  const reasons = [...(mapped === null ? ['not of this kind'] : mapped.skipped)]
  const lines = (mapped?.lines ?? []).filter(({ content }) => {
    const fits = Buffer.byteLength(content) <= limits.content_bytes
    if (!fits) reasons.push(`of more than ${limits.content_bytes / 1024} KiB`)
    return fits
  })
  for (const reason of reasons) counts.skipped.set(reason, (counts.skipped.get(reason) ?? 0) + 1)
  counts.memories += lines.length
  return lines
}

/** Returns the counts and the first memories that would be imported. Sends nothing. */
export async function previewImport(
  plan: ImportPlan,
): Promise<ImportCounts & { readonly samples: readonly MemoryImportBody[] }> {
  const counts: ImportCounts = { records: 0, memories: 0, skipped: new Map() }
  const samples: MemoryImportBody[] = []
  for await (const { line } of readLines(plan, counts))
    if (samples.length < SAMPLES) samples.push(line)
  return { ...counts, samples }
}

/** Imports a file. A refusal throws CommandError with its place and the number imported before. */
export async function importRecords(
  plan: ImportPlan,
  { url, apiKey }: { url: string; apiKey: string | undefined },
): Promise<ImportTotals> {
  const totals: ImportTotals = {
    records: 0,
    memories: 0,
    imported: 0,
    duplicates: 0,
    skipped: new Map(),
  }
  const custos = new Custos({ url, apiKey })
  const progress = startProgress('import')
  const identity = await identityOf(plan)
  let block: PlacedLine[] = []
  let characters = 0
  let number = 0
  const send = async () => {
    if (block.length === 0) return
    number += 1
    await sendBlock(custos, { plan, block, totals, key: `${identity}-${number}` })
    progress.show(`${totals.imported} memories`)
    block = []
    characters = 0
  }
  try {
    for await (const placed of readLines(plan, totals)) {
      block.push(placed)
      characters += placed.line.content.length
      if (block.length === BLOCK_LINES || characters > BLOCK_CHARACTERS) await send()
    }
    await send()
  } catch (error) {
    throw withKept(error, totals)
  } finally {
    progress.end()
  }
  return totals
}

/** A digest of the file and of every option that affects its blocks. */
async function identityOf({ kind, file, store, options }: ImportPlan): Promise<string> {
  const { namespace = null, roles } = options
  const choice = JSON.stringify([await hashFile(file), kind, store, namespace, roles])
  return `import-${createHash('sha256').update(choice).digest('hex').slice(0, 32)}`
}

async function sendBlock(
  custos: Custos,
  sent: {
    readonly plan: ImportPlan
    readonly block: readonly PlacedLine[]
    readonly totals: ImportTotals
    readonly key: string
  },
): Promise<void> {
  const { plan, block, totals, key } = sent
  const text = block.map(({ line }) => `${JSON.stringify(line)}\n`).join('')
  try {
    const options = { idempotencyKey: key }
    const { data, response } = await custos.memory
      .import(plan.store, text, {}, options)
      .withResponse()
    // A replayed answer of an earlier run means that nothing was imported now.
    const again = response.headers.get('idempotency-replayed') === 'true'
    totals.imported += again ? 0 : data.imported
    totals.duplicates += data.duplicates + (again ? data.imported : 0)
  } catch (error) {
    const refusal = error instanceof ApiError ? lineRefusal(error, block) : undefined
    throw refusal ?? commandError(error, { url: custos.url, role: 'tenant' })
  }
}

/**
 * The refusal of a line, with its place in the file; the service counts lines within the block.
 * Returns undefined if the refusal does not name a line.
 */
function lineRefusal({ detail, body }: ApiError, block: readonly PlacedLine[]) {
  const line = typeof body === 'object' && body !== null && 'line' in body ? Number(body.line) : 0
  const place = block[line - 1]?.place
  if (place === undefined) return undefined
  return new CommandError(`${place}: ${detail.replace(/^line \d+: /, '')}`)
}

function withKept(error: unknown, { imported, duplicates }: ImportTotals): unknown {
  if (!(error instanceof CommandError)) return error
  const kept = imported + duplicates
  const text = kept === 0 ? 'nothing was imported' : `the ${kept} memories before it are imported`
  return new CommandError(`${error.message} (${text})`)
}

const CHUNK_BYTES = 64 * 1024
const ZIP = Buffer.from('PK\u0003\u0004')
const CONVERSATIONS = /(^|\/)conversations[^/]*\.json$/

/** One text of the file. A ZIP may contain several. */
interface InputText {
  /** The name inside the ZIP; empty for a file that is not a ZIP. */
  readonly name: string
  readonly chunks: AsyncIterable<string>
}

/** Hex SHA-256 of the file. */
async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES }))
    hash.update(chunk)
  return hash.digest('hex')
}

async function* readInputs(path: string): AsyncGenerator<InputText> {
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
