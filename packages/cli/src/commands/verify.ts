// custos verify: checks what a service has said, offline and without trusting the service.

import { readFile, stat } from 'node:fs/promises'
import { text as readStream } from 'node:stream/consumers'
import type { PublishedKey } from '@custos/proof'
import { readArguments } from '../arguments.ts'
import { type Command, CommandError, UsageError } from '../command.ts'
import { startProgress } from '../progress.ts'
import { readDocuments } from '../verify/documents.ts'
import { judge, type Trust } from '../verify/judge.ts'
import { bareKey, parseKeyList } from '../verify/keys.ts'
import { type Judged, lacksKeys, reportLines } from '../verify/report.ts'

// A text longer than this cannot be held as one string.
const FILE_BYTES_MAX = 400 * 1024 * 1024

export const verify: Command = {
  usage: 'FILE… [--keys FILE | --key HEX…] [--entry FILE] [--json]',
  help: `Checks certificates, manifests with theirs, decisions, memories, log entries, epochs,
inclusion and consistency proofs: JSON as the API answers it, one a line (NDJSON), checkpoints
and tlog-proofs as text.
FILE - reads standard input. Nothing is sent anywhere.

  --keys FILE   the signing keys to trust: the answer of GET /v1/gcrumbs/public_key, obtained
                from the operator in a way you trust, not from whoever gave you the file
  --key HEX     one public key to trust, for every purpose and time; may be repeated
  --entry FILE  the log entry that a tlog-proof is about
  --json        verdicts as JSON, one a line

Exit status 0: everything valid. 1: something is invalid or signed by a key not given.`,
  run: runVerify,
}

async function runVerify(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    keys: { type: 'string' },
    key: { type: 'string', multiple: true },
    entry: { type: 'string' },
    json: { type: 'boolean' },
  })
  if (positionals.length === 0) throw new UsageError('name a file to verify, or - for stdin')
  const keys = await readTrusted(values.keys, values.key ?? [])
  const entry = values.entry === undefined ? undefined : await readEntry(values.entry)
  const judged: Judged[] = []
  for (const file of positionals) judged.push(...(await judgeFile(file, { keys, entry })))
  if (values.json)
    for (const { file, where, verdict } of judged)
      console.log(JSON.stringify({ file, where, ...verdict }))
  else console.log(reportLines(judged).join('\n'))
  if (keys.length === 0 && lacksKeys(judged))
    console.error(
      'custos verify: no keys were given, so no signer is known: save the answer of ' +
        'GET /v1/gcrumbs/public_key and pass it with --keys FILE',
    )
  return judged.every(({ verdict }) => verdict.valid) ? 0 : 1
}

async function readTrusted(list: string | undefined, bare: readonly string[]) {
  const keys: PublishedKey[] = bare.flatMap(bareKey)
  if (list !== undefined) keys.push(...parseKeyList(await readText(list), list))
  return keys
}

async function readEntry(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readText(file))
  } catch (error) {
    if (error instanceof SyntaxError) throw new CommandError(`${file} is not JSON`)
    throw error
  }
}

async function readText(file: string): Promise<string> {
  if (file === '-') return readStream(process.stdin)
  const { size } = await stat(file)
  if (size > FILE_BYTES_MAX)
    throw new CommandError(`${file} has more than 400 MB: split it by lines and verify the parts`)
  return readFile(file, 'utf8')
}

async function judgeFile(file: string, trust: Trust): Promise<Judged[]> {
  const documents = readDocuments(await readText(file))
  const progress = startProgress('verify')
  const judged: Judged[] = []
  try {
    for (const document of documents) {
      judged.push({ file, where: document.where, verdict: await judge(document, trust) })
      progress.show(`${file}: ${judged.length} of ${documents.length}`)
    }
  } finally {
    progress.end()
  }
  return judged
}
