// Structured log lines: ids, codes and durations; never content, names or credentials.

import pino from 'pino'
import { LogFile } from './log-file/log-file.ts'

type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

export interface Logger {
  debug(event: string, fields?: LogFields): void
  info(event: string, fields?: LogFields): void
  warn(event: string, fields?: LogFields): void
  error(event: string, fields?: LogFields): void
  flush(): void
}

/** Notes what failed after a commit, by its name: the texts of errors can hold content. */
export const noteLateFailure =
  (logger: Logger) =>
  (error: unknown): void =>
    logger.error('database.after_commit_failed', {
      name: error instanceof Error ? error.name : typeof error,
    })

/** Its kind and its frames: the message may quote what a caller sent. */
export function describeError(error: unknown): { error: string; code?: string; stack?: string } {
  if (!(error instanceof Error)) return { error: typeof error }
  const frames = (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at '))
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  return { error: error.name, ...code, stack: frames.slice(0, 12).join('\n') }
}

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug'

const timestamp = pino.stdTimeFunctions.isoTime

/** Of the process: made when it is first needed. */
let standardError: LogFile | undefined

const describeDropped = (lines: number): string =>
  `{"level":${pino.levels.values['warn']}${timestamp()},"lines":${lines},"msg":"log.dropped"}\n`

/** JSON lines to stderr, buffered: a slow terminal never slows a request. */
export function openLogger(level: LogLevel): Logger {
  // Node makes a pipe non-blocking when its stream is first touched.
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
