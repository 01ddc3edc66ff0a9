// Reads arguments strictly: what a command does not know is a usage error, never ignored.

import { type ParseArgsConfig, parseArgs } from 'node:util'
import { UsageError } from './command.ts'

type Options = NonNullable<ParseArgsConfig['options']>

/** Options and positionals; throws UsageError with the reason in one line. */
export function readArguments<const O extends Options>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'unknown option')
  }
}

/** Exactly `names.length` positionals, by name in the message. */
export function requirePositionals(given: readonly string[], ...names: readonly string[]): void {
  if (given.length === names.length) return
  const expected = names.length === 0 ? 'no arguments' : names.join(' ')
  throw new UsageError(`expected ${expected}, got ${given.length} arguments`)
}
