// custos migrate: makes or updates the schema on PostgreSQL, by a role that may.

import { runMigrate } from '@custos/server'
import { readArguments, requirePositionals } from '../arguments.ts'
import type { Command } from '../command.ts'
import { readDataConfig } from '../data-options.ts'

export const migrate: Command = {
  usage: '',
  help: `Creates what is missing of the schema in the database and in the keyring, the role
custos_app that requests run under, and binds the two to each other. Run it with roles that may
create tables and roles; the service itself can then run with roles that may not. Safe to repeat,
also while a service runs.

  CUSTOS_DATABASE_URL   PostgreSQL of the data
  CUSTOS_KEYRING_URL    PostgreSQL of the keyring, when it is another one
  CUSTOS_MASTER_KEY     master key of the keyring, 64 hex digits
  CUSTOS_DATABASE_WAIT  seconds to wait for a database that does not answer`,
  run: async (args) => {
    const { positionals } = readArguments(args, {})
    requirePositionals(positionals)
    const done = await runMigrate(readDataConfig({}))
    for (const name of done) console.log(`ran ${name}`)
    console.log('the schema is that of this version')
    return 0
  },
}
