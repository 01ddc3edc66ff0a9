// custos serve: runs the service until SIGTERM or SIGINT.

import {
  type Config,
  describeError,
  findNearestName,
  LOCAL_TENANT,
  OperatorError,
  parseConfig,
  readEnvironment,
  SETTINGS,
  settingsHelp,
  startService,
  unknownSettings,
} from '@custos/server'
import { type Command, readArguments, requirePositionals, UsageError } from '../command.ts'

/** The longest wait for running requests and for connections that do not answer. */
const STOP_MS = 60_000

export const serve: Command = {
  usage: '[options]',
  help: `Settings come from flags or from the environment; flags win. Secrets have no flag.

  --accept-empty-data
      begin an empty database where the keyring has keys of tenants and their data is missing;
      without it the start stops, because the data may only be away (a disk not mounted)
${settingsHelp()}`,
  run: runServe,
}

async function runServe(args: readonly string[]): Promise<number> {
  const flags = readFlags(args)
  warnOfUnknown()
  const config = configOf(flags.settings)
  // A reader that closes the pipe after the first lines (`| head`) must not stop the service.
  process.stdout.on('error', () => {})
  process.stderr.on('error', () => {})
  const service = await startService(config, { accept_empty_data: flags.accept_empty_data })
  // Before any output, because a script may stop the service as soon as it reads the first line.
  const stopping = waitForStopSignal()
  // Requests may be half done and cannot be answered any more. A restart recovers the state.
  process.once('uncaughtException', (error) => {
    const { logger } = service.kernel
    logger.error('process.crashed', describeError(error))
    logger.flush()
    process.exit(1)
  })
  console.log(`custos listens on ${service.url}`)
  if (config.auth === 'local')
    console.log(`local mode: no credential needed, tenant "${LOCAL_TENANT}", this machine only`)
  const where = config.postgres === null ? config.data_dir : 'PostgreSQL'
  console.log(`data in ${where}; API explorer at ${service.url}/docs`)
  if (config.pages) console.log(`console at ${service.url}/console`)
  await stopping
  exitAfter(STOP_MS)
  await service.stop().catch(exitOnFailedStop)
  return 0
}

/** Parses the configuration. An invalid setting that was given as an option is a UsageError. */
function configOf(given: Readonly<Record<string, string>>): Config {
  try {
    return parseConfig({ ...readEnvironment(), ...given })
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    const wrong = SETTINGS.find(({ name }) => error.message.startsWith(`${name} `))
    if (!wrong || given[wrong.name] === undefined) throw error
    throw new UsageError(`--${wrong.flag}${error.message.slice(wrong.name.length)}`)
  }
}

// Called before the start, which may fail because of the misspelt name.
function warnOfUnknown(): void {
  const known = SETTINGS.map(({ name }) => name)
  for (const name of unknownSettings()) {
    const nearest = findNearestName(name, known)
    const hint = nearest === null ? '' : `; did you mean ${nearest}?`
    console.error(`custos serve: ${name} is no setting and is ignored${hint}`)
  }
}

/** Exits explicitly, because calls that wait for the database would keep the process alive. */
function exitOnFailedStop(error: unknown): never {
  if (!(error instanceof OperatorError)) throw error
  console.error(`custos serve: ${error.message}`)
  return process.exit(1)
}

/** Exits after `ms`. Acknowledged writes are durable, so hanging requests may be dropped. */
function exitAfter(ms: number): void {
  const timer = setTimeout(() => {
    console.error(`custos serve: did not stop within ${ms / 1_000} s and was ended`)
    process.exit(1)
  }, ms)
  timer.unref()
}

const ACCEPT_EMPTY_DATA = 'accept-empty-data'

function readFlags(args: readonly string[]) {
  const options: Record<string, { type: 'string' | 'boolean' }> = {
    [ACCEPT_EMPTY_DATA]: { type: 'boolean' },
  }
  const flagged = SETTINGS.filter(({ flag }) => flag !== '')
  for (const { flag } of flagged) options[flag] = { type: 'string' }
  const { values, positionals } = readArguments(args, options)
  requirePositionals(positionals)
  const given = flagged.filter(({ flag }) => values[flag] !== undefined)
  return {
    settings: Object.fromEntries(given.map(({ name, flag }) => [name, String(values[flag])])),
    accept_empty_data: values[ACCEPT_EMPTY_DATA] === true,
  }
}

/** Resolves at the first SIGTERM or SIGINT; a second one ends the process at once. */
function waitForStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      process.once(signal, () => {
        process.once(signal, () => process.exit(130))
        resolve()
      })
  })
}
