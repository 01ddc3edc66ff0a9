// Structured log lines: ids, codes and durations; never content, names or credentials.

import pino from 'pino'

type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

export interface Logger {
  info(event: string, fields?: LogFields): void
  warn(event: string, fields?: LogFields): void
  error(event: string, fields?: LogFields): void
  flush(): void
}

export type LogLevel = 'silent' | 'error' | 'warn' | 'info'

/** JSON lines to stderr, buffered: a slow terminal never slows a request. */
export function openLogger(level: LogLevel): Logger {
  const destination = pino.destination({ dest: 2, sync: false, minLength: 4096 })
  const logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination)
  const flushSoon = setInterval(() => destination.flush(), 500)
  flushSoon.unref()
  return {
    info: (event, fields) => logger.info(fields ?? {}, event),
    warn: (event, fields) => logger.warn(fields ?? {}, event),
    error: (event, fields) => logger.error(fields ?? {}, event),
    flush: () => destination.flushSync(),
  }
}
