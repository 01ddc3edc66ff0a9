// Saves the answer of a service to a file or prints it, with progress on stderr.

import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { readlink, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CommandError } from './command.ts'
import { formatBytes, startProgress } from './output.ts'

/**
 * @param output the path of the file; undefined for standard output
 * @returns `file`, the path that was written; null for standard output, which nothing may follow
 */
export async function saveDownload(
  { body }: Response,
  title: string,
  output: string | undefined,
): Promise<{ readonly lines: number; readonly bytes: number; readonly file: string | null }> {
  // Opening standard output by its name would truncate the file it is redirected to.
  const file = output === undefined || output === '/dev/stdout' ? null : output
  if (!body) throw new CommandError('the service sent no body')
  const counter = countLines(title)
  try {
    await save([() => Readable.fromWeb(body), counter.stream], file)
  } catch (error) {
    // fetch throws a TypeError when the connection ends before the body does.
    if (error instanceof TypeError)
      throw new CommandError(`the connection ended before the ${title} did: no file was written`)
    throw error
  } finally {
    counter.end()
  }
  return { lines: counter.lines(), bytes: counter.bytes(), file }
}

// Writes under another name until the file is complete, so that an interrupted stream leaves no
// file that looks complete. `open` is called when the pipeline starts, because a stream that fails
// earlier would end the process.
async function save(
  [open, through]: readonly [() => Readable, Transform],
  output: string | null,
): Promise<void> {
  if (output === null) return pipeline(open(), through, process.stdout, { end: false })
  const there = await stat(output).catch(() => null)
  // A rename would replace a device, or the file that /dev/stdout is appended to.
  if ((there && !there.isFile()) || /^\/(dev\/(std|fd\/)|proc\/)/.test(output))
    return pipeline(open(), through, createWriteStream(output, { flags: 'a' }))
  const file = await followLinks(output)
  const draft = `${file}.${randomBytes(4).toString('hex')}`
  try {
    const options = { flags: 'wx', mode: 0o600, flush: true }
    await pipeline(open(), through, createWriteStream(draft, options))
    await rename(draft, file)
  } finally {
    await rm(draft, { force: true })
  }
}

/** Resolves symbolic links, even if the target does not exist. Throws if links form a cycle. */
async function followLinks(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    const target = await readlink(path).catch(() => null)
    if (target === null) return path
    if (error instanceof Error && 'code' in error && error.code === 'ELOOP') throw error
    return followLinks(resolve(await realpath(dirname(path)), target))
  }
}

/** A pass-through stream that counts bytes and lines. */
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
