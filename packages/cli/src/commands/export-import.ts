// custos export and custos import: the memories of a store as NDJSON.

import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Command, CommandError, readArguments, requirePositionals } from '../command.ts'
import { formatBytes, startProgress } from '../output.ts'
import { CLIENT_HELP, CLIENT_OPTIONS, openClient } from '../service-client.ts'

export const exportStore: Command = {
  usage: 'STORE [-o FILE] [options]',
  help: `Writes a header line and every memory of the store, superseded ones included, one JSON
object per line. custos import and custos verify read the file.

  -o, --output FILE   where to write (default: standard output)
${CLIENT_HELP}`,
  run: runExport,
}

async function runExport(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...CLIENT_OPTIONS,
    output: { type: 'string', short: 'o' },
  })
  requirePositionals(positionals, 'STORE')
  const client = openClient(values, 'tenant')
  const store = encodeURIComponent(positionals[0] ?? '')
  const { body } = await client.send(`/v1/stores/${store}/export`)
  if (!body) throw new CommandError('the service sent no body')
  const counter = countLines('export')
  try {
    await saveExport([Readable.fromWeb(body), counter.stream], values.output)
  } catch (error) {
    // fetch throws a TypeError when the connection ends before the body does.
    if (error instanceof TypeError)
      throw new CommandError('the connection ended before the export did: no file was written')
    throw error
  } finally {
    counter.end()
  }
  if (values.output !== undefined)
    console.log(
      `${counter.lines() - 1} memories, ${formatBytes(counter.bytes())}, ${values.output}`,
    )
  return 0
}

// Written under another name until it is complete, so that an interrupted stream leaves no file
// that looks like an export.
async function saveExport(
  [from, through]: readonly [Readable, Transform],
  output: string | undefined,
): Promise<void> {
  if (output === undefined) return pipeline(from, through, process.stdout, { end: false })
  const draft = `${output}.${randomBytes(4).toString('hex')}`
  try {
    const file = createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true })
    await pipeline(from, through, file)
    await rename(draft, output)
  } finally {
    await rm(draft, { force: true })
  }
}

/** A stream that passes bytes on and counts bytes and lines. */
function countLines(title: string) {
  const progress = startProgress(title)
  let [lines, bytes] = [0, 0]
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1
      progress.show(`${lines} lines, ${formatBytes(bytes)}`)
      done(null, chunk)
    },
  })
  return { stream, lines: () => lines, bytes: () => bytes, end: () => progress.end() }
}

export const importStore: Command = {
  usage: 'STORE FILE [options]',
  help: `Reads a file of custos export, or lines with at least {"content": "…"}. FILE - reads
standard input. A memory keeps its ref if that ref is free; refs of erased memories are refused.
Lines that the store has already are left out: the same content, namespace and original time.

  --allow-duplicates  import them as well
${CLIENT_HELP}`,
  run: runImport,
}

interface ImportReply {
  readonly imported: number
  readonly duplicates: number
  readonly refs_mapped: readonly { readonly from: number; readonly to: number }[]
}

async function runImport(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...CLIENT_OPTIONS,
    'allow-duplicates': { type: 'boolean' },
  })
  requirePositionals(positionals, 'STORE', 'FILE')
  const query = values['allow-duplicates'] ? '?allow_duplicates=true' : ''
  const [store = '', file = ''] = positionals
  const client = openClient(values, 'tenant')
  const source = file === '-' ? process.stdin : (await open(file)).createReadStream()
  const counter = countLines('import')
  // pipe() does not pass on a failed read.
  source.once('error', (error: Error) => counter.stream.destroy(error))
  try {
    const { imported, duplicates, refs_mapped } = await client.json<ImportReply>(
      `/v1/stores/${encodeURIComponent(store)}/import${query}`,
      {
        method: 'POST',
        stream: Readable.toWeb(source.pipe(counter.stream)),
        type: 'application/x-ndjson',
      },
    )
    counter.end()
    console.log(`${imported} memories imported into ${store}`)
    if (duplicates > 0) console.log(`${duplicates} memories left out, because the store has them`)
    if (refs_mapped.length > 0)
      console.log(`${refs_mapped.length} memories got a new ref, because theirs was in use`)
  } finally {
    counter.end()
  }
  return 0
}
