// custos export and custos import: the memories of a store as NDJSON.

import { open } from 'node:fs/promises'
import {
  CLIENT_HELP,
  CLIENT_OPTIONS,
  clientAddress,
  setMembers,
  useClient,
} from '../client-calls.ts'
import { type Command, readArguments, requirePositionals, UsageError } from '../command.ts'
import { countLines, saveDownload } from '../download.ts'
import { importRecords, previewImport } from '../import/import-records.ts'
import { MEMORY_SYSTEMS } from '../import/memory-systems.ts'
import { formatBytes } from '../output.ts'

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
  const { lines, bytes, file } = await useClient(values, 'tenant', async (custos) => {
    const { response } = await custos.memory.export(positionals[0] ?? '').withResponse()
    return saveDownload(response, 'export', values.output)
  })
  if (file !== null) console.log(`${lines - 1} memories, ${formatBytes(bytes)}, ${file}`)
  return 0
}

/** A script for LangGraph, whose items have a `dict()` with times as texts. */
const LANGGRAPH_EXPORT = `import json

def export(store, path):
    with open(path, "w", encoding="utf-8") as file:
        done = 0
        while page := store.search((), limit=1000, offset=done):
            done += len(page)
            for item in page:
                file.write(json.dumps(item.dict(), ensure_ascii=False) + "\\n")

export(store, "items.jsonl")
`

export const importStore: Command = {
  usage: 'STORE FILE [options] | --from KIND FILE [--store STORE] [options]',
  help: `Reads a file of custos export, or lines with at least {"content": "…"}. FILE - reads
standard input. A memory keeps its ref if that ref is free; refs of erased memories are refused.
Lines that the store has already are left out: the same content, namespace and original time.

  --allow-duplicates  import them as well
  --from KIND         memories of another system: mem0, zep (Graphiti too), chatgpt (the ZIP of an
                      export, or its conversations.json), langgraph (what the script below writes)
                      or memory-jsonl (the file of the official memory server of MCP);
                      ndjson: as without --from
  --store STORE       with --from: where to (default: default)
  --namespace NAME    with --from: one namespace for all (default: that of the memory, or the root)
  --roles LIST        with --from chatgpt: whose messages (default: user)
  --dry-run           with --from: print counts and the first three memories, send nothing

An import with --from may be started again after anything that stopped it: what is there already is
not imported twice.

This Python script writes the file for --from langgraph from any store of LangGraph:

${LANGGRAPH_EXPORT.replaceAll(/^(?=.)/gm, '  ')}
${CLIENT_HELP}`,
  run: runImport,
}

/** The roles of messages in an export of ChatGPT. */
const ROLES = ['user', 'assistant', 'system', 'tool']

const FROM_OPTIONS = {
  from: { type: 'string' },
  store: { type: 'string' },
  namespace: { type: 'string' },
  roles: { type: 'string' },
  'dry-run': { type: 'boolean' },
} as const

async function runImport(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...CLIENT_OPTIONS,
    ...FROM_OPTIONS,
    'allow-duplicates': { type: 'boolean' },
  })
  const { from, store = 'default', ...given } = values
  if (from === undefined || from === 'ndjson') {
    const wrong = (['namespace', 'roles', 'dry-run'] as const).find((name) => given[name])
    if (from === undefined && values.store !== undefined)
      throw new UsageError('--store needs --from')
    if (wrong !== undefined) throw new UsageError(`--${wrong} needs --from another system`)
    const target = from === undefined ? positionals : [store, ...positionals]
    requirePositionals(target, 'STORE', 'FILE')
    const [into = '', file = ''] = target
    return importOwn(values, into, file)
  }
  if (given['allow-duplicates']) throw new UsageError('--allow-duplicates is not for --from')
  requirePositionals(positionals, 'FILE')
  const system = Object.hasOwn(MEMORY_SYSTEMS, from) ? MEMORY_SYSTEMS[from] : undefined
  if (!system)
    throw new UsageError(`--from takes ${Object.keys(MEMORY_SYSTEMS).join(', ')} or ndjson`)
  const roles = rolesOf(given.roles ?? 'user')
  const options = { namespace: given.namespace, roles }
  const plan = { kind: from, system, file: positionals[0] ?? '', store, options }
  if (given['dry-run']) return showPreview(await previewImport(plan))
  const totals = await importRecords(plan, clientAddress(values))
  console.log(`${totals.imported} memories imported into ${store}`)
  if (totals.duplicates > 0)
    console.log(`${totals.duplicates} memories left out, because the store has them`)
  showSkipped(totals.skipped)
  return 0
}

function rolesOf(text: string): string[] {
  const roles = text.split(',').map((role) => role.trim())
  const wrong = roles.find((role) => !ROLES.includes(role))
  if (wrong !== undefined)
    throw new UsageError(`--roles takes ${ROLES.join(', ')}, not ${JSON.stringify(wrong)}`)
  return roles
}

function showPreview({
  records,
  memories,
  skipped,
  samples,
}: Awaited<ReturnType<typeof previewImport>>): number {
  console.log(`${records} records, ${memories} memories; nothing was sent`)
  showSkipped(skipped)
  for (const sample of samples) console.log(JSON.stringify(sample))
  return 0
}

function showSkipped(skipped: ReadonlyMap<string, number>): void {
  for (const [reason, count] of skipped) console.log(`${count} left out: ${reason}`)
}

async function importOwn(
  values: { readonly url?: string; readonly 'allow-duplicates'?: boolean },
  store: string,
  file: string,
): Promise<number> {
  const query = setMembers({ allow_duplicates: values['allow-duplicates'] })
  const source = file === '-' ? process.stdin : (await open(file)).createReadStream()
  const counter = countLines('import')
  // pipe() does not propagate read errors.
  source.once('error', (error: Error) => counter.stream.destroy(error))
  try {
    const { imported, duplicates, refs_mapped } = await useClient(values, 'tenant', (custos) =>
      custos.memory.import(store, source.pipe(counter.stream), query),
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
