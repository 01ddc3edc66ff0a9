// The interface of a command, its errors, and strict parsing of its arguments.

import { type ParseArgsConfig, parseArgs } from 'node:util'

export interface Command {
  /** The usage line after the name of the command. */
  readonly usage: string
  /** The text of `custos NAME --help` below the usage line. */
  readonly help: string
  /** Returns the exit status. Throws UsageError for wrong arguments, CommandError for failures. */
  run(args: readonly string[]): Promise<number>
}

/** A row of the command table; the module is loaded when the command is used. */
export interface CommandEntry {
  readonly name: string
  readonly summary: string
  load(): Promise<Command>
}

/** Wrong arguments: one line, exit status 2. */
export class UsageError extends Error {
  /** For an unknown option: its name, and the options that exist. */
  readonly option: { readonly name: string; readonly known: readonly string[] } | undefined

  constructor(message: string, option?: UsageError['option']) {
    super(message)
    this.option = option
  }
}

/** A failure of the command: one line, exit status 1. */
export class CommandError extends Error {}

export type Options = NonNullable<ParseArgsConfig['options']>

/** Parses options and positionals. Throws UsageError for options the command does not have. */
export function readArguments<const O extends Options>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    const message = error instanceof Error ? error.message : 'unknown option'
    const name = /^Unknown option '--([^']+)'/.exec(message)?.[1]
    if (name === undefined) throw new UsageError(valueAdvice(message) ?? message)
    throw new UsageError(`unknown option --${name}`, { name, known: Object.keys(options) })
  }
}

/** For a value like that of `--budget -3`, a shorter message than Node's three sentences. */
function valueAdvice(message: string): string | undefined {
  const option = /^Option '(?:-\w, )?(--[\w-]+)[^']*' argument is ambiguous/.exec(message)?.[1]
  return option && `${option} needs a value; one that begins with a dash is ${option}=VALUE`
}

/** Throws UsageError unless there is exactly one positional argument for each name. */
export function requirePositionals(given: readonly string[], ...names: readonly string[]): void {
  if (given.length === names.length) return
  const expected = names.length === 0 ? 'no arguments' : names.join(' ')
  throw new UsageError(`expected ${expected}, got ${given.length} arguments`)
}
