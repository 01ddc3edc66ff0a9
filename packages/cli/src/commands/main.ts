// The custos command: runs a subcommand and turns failures into one line and an exit status.

import { type CommandEntry, CommandError, UsageError } from '../command.ts'
import { commands } from './index.ts'

function usage(): string {
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(14)} ${summary}`)
  const head = 'usage: custos COMMAND [arguments]'
  return `${head}\n\n${lines.join('\n')}\n\ncustos COMMAND --help explains a command.`
}

async function runCommand(entry: CommandEntry, args: readonly string[]): Promise<number> {
  try {
    const command = await entry.load()
    const options = args.includes('--') ? args.slice(0, args.indexOf('--')) : args
    if (options.includes('--help') || options.includes('-h')) {
      console.log(`usage: custos ${entry.name} ${command.usage}\n\n${command.help}`)
      return 0
    }
    return await command.run(args)
  } catch (error) {
    return reportFailure(entry.name, error)
  }
}

async function reportFailure(name: string, error: unknown): Promise<number> {
  if (error instanceof UsageError) {
    console.error(`custos ${name}: ${error.message}${await nearestOption(error)}`)
    return 2
  }
  // A closed pipe of standard output needs no message; that of another file, as of `-o`, does.
  if (error instanceof Error && isClosedPipe(error) && lostOutput.length > 0) return 1
  const text = error instanceof Error ? await expectedText(error) : null
  if (text === null) throw error
  console.error(`custos ${name}: ${text}`)
  return 1
}

async function nearestOption({ option }: UsageError): Promise<string> {
  if (!option) return ''
  const { findNearestName } = await import('@custos/server')
  const nearest = findNearestName(option.name, option.known)
  return nearest === null ? '' : `; did you mean --${nearest}?`
}

/** A one-line message that an operator can act on; null for a bug, which shows its stack. */
async function expectedText(error: Error): Promise<string | null> {
  if (error instanceof CommandError) return error.message
  // The command that threw an OperatorError has loaded the server already.
  const { describeStorageFault, OperatorError } = await import('@custos/server')
  if (error instanceof OperatorError) return error.message
  // Errors of the system, such as a missing file or a port in use, have a clear message.
  const isOfSystem = 'code' in error && 'syscall' in error
  return describeStorageFault(error) ?? (isOfSystem ? error.message : null)
}

/** Whether the reader closed the pipe, like `| head` after enough lines. */
const isClosedPipe = (error: Error): boolean => 'code' in error && error.code === 'EPIPE'

/** The errors of writing to standard output. */
const lostOutput: Error[] = []
const noteLost = (error: Error): void => void lostOutput.push(error)

/** Runs one command line and returns the exit status. */
export async function runCli(argv: readonly string[]): Promise<number> {
  lostOutput.length = 0
  process.stdout.on('error', noteLost)
  const status = await runLine(argv)
  // Output may still be buffered, and its error may still arrive.
  await new Promise((sent) => process.stdout.write('', sent))
  process.stdout.off('error', noteLost)
  // A service continues without its output, so `serve` ignores the error.
  const [lost] = lostOutput
  if (!lost || isClosedPipe(lost) || status !== 0 || argv[0] === 'serve') return status
  console.error(`custos: the output could not be written: ${lost.message}`)
  return 1
}

async function runLine(argv: readonly string[]): Promise<number> {
  const [name, ...args] = argv
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    console.log(usage())
    return name === undefined ? 2 : 0
  }
  if (name === '--version') {
    console.log((await import('@custos/server')).VERSION)
    return 0
  }
  const entry = commands.find((known) => known.name === name)
  if (entry) return runCommand(entry, args)
  console.error(`custos: no command "${name}"\n\n${usage()}`)
  return 2
}
