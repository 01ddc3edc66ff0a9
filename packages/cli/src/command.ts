// What a command is: its name, its help and what it does.

export interface Command {
  /** After the name in the usage line. */
  readonly usage: string
  /** Lines of `custos NAME --help` below the usage. */
  readonly help: string
  /** Returns the exit status. Throws UsageError for arguments it cannot take. */
  run(args: readonly string[]): Promise<number>
}

/** A command by name; its module is read only when it is called for. */
export interface CommandEntry {
  readonly name: string
  readonly summary: string
  load(): Promise<Command>
}

/** The command was called wrongly: one line, status 2. */
export class UsageError extends Error {}

/** The command could not do its work: one line, status 1. */
export class CommandError extends Error {}
