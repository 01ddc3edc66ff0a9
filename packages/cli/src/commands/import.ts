// custos import: memories from NDJSON into a store, streamed.

import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { readArguments, requirePositionals } from '../arguments.ts'
import type { Command } from '../command.ts'
import { CLIENT_HELP, CLIENT_OPTIONS, openClient } from '../service-client.ts'
import { countLines } from './export.ts'

export const importStore: Command = {
  usage: 'STORE FILE [options]',
  help: `Reads what custos export wrote, or lines with as little as {"content": "…"}. FILE - reads
standard input. Refs are kept where they are free; those of erased memories are refused.

${CLIENT_HELP}`,
  run: runImport,
}

interface Imported {
  readonly imported: number
  readonly refs_mapped: readonly { readonly from: number; readonly to: number }[]
}

async function runImport(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, CLIENT_OPTIONS)
  requirePositionals(positionals, 'STORE', 'FILE')
  const [store = '', file = ''] = positionals
  const client = openClient(values, 'tenant')
  const source = file === '-' ? process.stdin : (await open(file)).createReadStream()
  const counter = countLines('import')
  // pipe() does not carry a failed read over.
  source.once('error', (error: Error) => counter.stream.destroy(error))
  try {
    const { imported, refs_mapped } = await client.json<Imported>(
      `/v1/stores/${encodeURIComponent(store)}/import`,
      {
        method: 'POST',
        stream: Readable.toWeb(source.pipe(counter.stream)),
        type: 'application/x-ndjson',
      },
    )
    counter.end()
    console.log(`${imported} memories imported into ${store}`)
    if (refs_mapped.length > 0) console.log(`${refs_mapped.length} refs were taken: given new ones`)
  } finally {
    counter.end()
  }
  return 0
}
