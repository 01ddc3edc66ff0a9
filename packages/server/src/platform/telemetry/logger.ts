// Structured log lines: ids, codes and durations; never content, names or credentials.

import { write, writeSync } from 'node:fs'
import pino from 'pino'

type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

export interface Logger {
  debug(event: string, fields?: LogFields): void
  info(event: string, fields?: LogFields): void
  warn(event: string, fields?: LogFields): void
  error(event: string, fields?: LogFields): void
  flush(): void
}

/** Logs a failure after a commit by the name of its error, because messages can contain content. */
export const noteLateFailure =
  (logger: Logger) =>
  (error: unknown): void =>
    logger.error('database.after_commit_failed', {
      name: error instanceof Error ? error.name : typeof error,
    })

/** The name and the stack frames of an error. Its message may quote what a caller sent. */
export function describeError(error: unknown): { error: string; code?: string; stack?: string } {
  if (!(error instanceof Error)) return { error: typeof error }
  const frames = (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at '))
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  return { error: error.name, ...code, stack: frames.slice(0, 12).join('\n') }
}

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug'

const timestamp = pino.stdTimeFunctions.isoTime

/** One per process, created on first use. */
let standardError: LogFile | undefined

const describeDropped = (lines: number): string =>
  `{"level":${pino.levels.values['warn']}${timestamp()},"lines":${lines},"msg":"log.dropped"}\n`

/** Writes JSON lines to stderr, buffered, so that a slow terminal never delays a request. */
export function openLogger(level: LogLevel): Logger {
  // Node makes a pipe non-blocking when its stream is first accessed.
  standardError ??= new LogFile(process.stderr.fd, describeDropped)
  const destination = standardError
  const logger = pino({ level, base: null, timestamp }, destination)
  return {
    debug: (event, fields) => logger.debug(fields ?? {}, event),
    info: (event, fields) => logger.info(fields ?? {}, event),
    warn: (event, fields) => logger.warn(fields ?? {}, event),
    error: (event, fields) => logger.error(fields ?? {}, event),
    flush: () => destination.flush(),
  }
}

/** Buffered bytes that trigger a write; smaller amounts are written within half a second. */
const WRITE_BYTES = 4_096
const WRITE_MS = 500
/** Memory that a stalled reader may cost; further lines are dropped. */
const HELD_BYTES_MAX = 4 * 1024 * 1024
const RETRY_MS = 20
const PAUSE_MS = 25
const PAUSES_MAX = 10

/** Blocks the thread for PAUSE_MS. */
const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS)

/**
 * A destination for pino that never blocks if its file, pipe or terminal accepts no data now.
 * Pino's own destination would wait on the main thread.
 */
export class LogFile {
  readonly #fd: number
  readonly #describeDropped: (lines: number) => string
  #held: string[] = []
  #held_bytes = 0
  /** The bytes being written, their number of lines, and whether a write is in flight. */
  #writing: Buffer | null = null
  #writing_lines = 0
  #under_way = false
  #dropped = 0

  /** @param describeDropped formats the line that reports dropped lines once writes succeed */
  constructor(fd: number, describeDropped: (lines: number) => string) {
    this.#fd = fd
    this.#describeDropped = describeDropped
    setInterval(() => this.#begin(), WRITE_MS).unref()
    process.on('exit', () => this.flush())
  }

  write(line: string): void {
    if (this.#held_bytes >= HELD_BYTES_MAX) {
      this.#dropped += 1
      return
    }
    this.#held.push(line)
    this.#held_bytes += line.length
    if (this.#held_bytes >= WRITE_BYTES) this.#begin()
  }

  /** Writes the rest before the process ends; waits at most 0.25 s for a slow reader. */
  flush(): void {
    // A write in flight has most likely ended after a pause; its callback cannot run before then.
    if (this.#under_way) pause()
    const begun = this.#under_way ? null : this.#writing
    let rest = Buffer.concat([begun ?? Buffer.alloc(0), Buffer.from(this.#take())])
    if (begun !== null) this.#writing = null
    for (let pauses = 0; rest.length > 0 && pauses < PAUSES_MAX; )
      try {
        rest = rest.subarray(writeSync(this.#fd, rest))
      } catch (error) {
        // There is no way left to report another failure.
        if (Object(error).code !== 'EAGAIN') return
        pauses += 1
        pause()
      }
  }

  #take(): string {
    const text = this.#held.join('')
    this.#held = []
    this.#held_bytes = 0
    return text
  }

  #begin(): void {
    if (this.#writing !== null || this.#held.length === 0) return
    this.#writing_lines = this.#held.length
    this.#continue(Buffer.from(this.#take()))
  }

  #continue(rest: Buffer): void {
    this.#writing = rest
    this.#under_way = true
    write(this.#fd, rest, (error, bytes) => {
      this.#under_way = false
      if (error?.code === 'EAGAIN') {
        setTimeout(() => this.#writing === rest && this.#continue(rest), RETRY_MS).unref()
        return
      }
      const left = error ? null : rest.subarray(bytes)
      if (left !== null && left.length > 0) {
        this.#continue(left)
        return
      }
      this.#writing = null
      if (error) this.#dropped += this.#writing_lines
      else if (this.#dropped > 0) {
        this.#held.unshift(this.#describeDropped(this.#dropped))
        this.#dropped = 0
      }
      if (this.#held_bytes >= WRITE_BYTES) this.#begin()
    })
  }
}
