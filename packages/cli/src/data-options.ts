// Options of commands that work on a data directory, and the configuration made from them.

import { type Config, parseConfig, readEnvironment } from '@custos/server'

export const DATA_OPTIONS = {
  'data-dir': { type: 'string' },
  origin: { type: 'string' },
  'ledger-copy': { type: 'string' },
} as const

export const DATA_HELP = `  --data-dir DIR, CUSTOS_DATA_DIR
      directory of the database and the keyring (default: ./custos-data)
  --origin NAME, CUSTOS_ORIGIN
      origin of checkpoints, if the service runs with one
  CUSTOS_MASTER_KEY
      master key of the keyring, if it is not in the data directory`

export const LEDGER_HELP = `  --ledger-copy FILE, CUSTOS_LEDGER_COPY
      second copy of the erasure ledger, if the service runs with one`

/** The configuration that `serve` would have with these flags. Throws ConfigError. */
export function readDataConfig(
  values: Readonly<Partial<Record<keyof typeof DATA_OPTIONS, string>>>,
): Config {
  const flags = {
    CUSTOS_DATA_DIR: values['data-dir'],
    CUSTOS_ORIGIN: values.origin,
    CUSTOS_LEDGER_COPY: values['ledger-copy'],
  }
  const given = Object.entries(flags).filter(([, value]) => value !== undefined)
  return parseConfig({ ...readEnvironment(), ...Object.fromEntries(given) })
}
