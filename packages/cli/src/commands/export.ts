// custos export: a memory store as NDJSON, in a file or on standard output.

import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { readArguments, requirePositionals } from '../arguments.ts'
import { type Command, CommandError } from '../command.ts'
import { formatBytes, startProgress } from '../progress.ts'
import { CLIENT_HELP, CLIENT_OPTIONS, openClient } from '../service-client.ts'

export const exportStore: Command = {
  usage: 'STORE [-o FILE] [options]',
  help: `Writes a header line and every memory of the store, superseded ones included, one JSON
object a line. custos import and custos verify read it.

  -o, --output FILE   default: standard output
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
    await receive([Readable.fromWeb(body), counter.stream], values.output)
  } catch (error) {
    // How fetch says that the connection ended before the body did.
    if (error instanceof TypeError)
      throw new CommandError('the export was cut off: nothing is kept')
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

// Under another name until it is whole: a stream that was cut off leaves no file to mistake for
// an export.
async function receive(
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

/** Passes bytes on and counts them and their lines. */
export function countLines(title: string) {
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
