// Structured log lines: ids, codes and durations; never content, names or credentials.

import pino from 'pino'

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

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug'

/** JSON lines to stderr, buffered: a slow terminal never slows a request. */
export function openLogger(level: LogLevel): Logger {
  const destination = pino.destination({ dest: 2, sync: false, minLength: 4096 })
  const logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination)
  const flushSoon = setInterval(() => destination.flush(), 500)
  flushSoon.unref()
  return {
    debug: (event, fields) => logger.debug(fields ?? {}, event),
    info: (event, fields) => logger.info(fields ?? {}, event),
    warn: (event, fields) => logger.warn(fields ?? {}, event),
    error: (event, fields) => logger.error(fields ?? {}, event),
    flush: () => destination.flushSync(),
  }
}
