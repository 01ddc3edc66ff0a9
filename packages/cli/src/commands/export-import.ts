// custos export and custos import: the memories of a store as NDJSON.

import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { type Command, readArguments, requirePositionals } from '../command.ts'
import { countLines, saveDownload } from '../download.ts'
import { formatBytes } from '../output.ts'
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
  const response = await client.send(`/v1/stores/${store}/export`)
  const { lines, bytes } = await saveDownload(response, 'export', values.output)
  if (values.output !== undefined)
    console.log(`${lines - 1} memories, ${formatBytes(bytes)}, ${values.output}`)
  return 0
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
