// custos migrate creates the schema on PostgreSQL; migrate-engine moves a data directory there.

import { type MigrationResult, runMigrate, runMigrateEngine } from '@custos/server'
import { type Command, readArguments, requirePositionals } from '../command.ts'
import { DATA_HELP, DATA_OPTIONS, LEDGER_HELP, readDataConfig } from '../data-options.ts'
import { formatTable, startProgress } from '../output.ts'

export const migrate: Command = {
  usage: '[--accept-empty-data]',
  help: `Creates or updates the schema in the database and in the keyring, creates the role
custos_app that requests run under, and links database and keyring. Run it with roles that may
create tables and roles; the service can then run with roles that may not. It can be repeated, also
while a service runs.

  --accept-empty-data   link an empty database to a keyring that has keys of tenants; without it
                        the command stops, because it may be the wrong database
  CUSTOS_DATABASE_URL   PostgreSQL of the data
  CUSTOS_KEYRING_URL    PostgreSQL of the keyring, if it is another database
  CUSTOS_MASTER_KEY     master key of the keyring, 64 hex digits
  CUSTOS_DATABASE_WAIT  seconds to wait for a database that does not answer`,
  run: async (args) => {
    const { values, positionals } = readArguments(args, {
      'accept-empty-data': { type: 'boolean' },
    })
    requirePositionals(positionals)
    const accept_empty_data = values['accept-empty-data'] ?? false
    const done = await runMigrate(readDataConfig({}), { accept_empty_data })
    for (const name of done) console.log(`ran ${name}`)
    console.log('the schema is up to date')
    return 0
  },
}

export const migrateEngine: Command = {
  usage: '[--force] [options]',
  help: `Copies a data directory, whose service is stopped, into an empty PostgreSQL database: rows,
audit logs, keys, secrets, erasure ledger and checkpoints. Destroyed secrets are not copied. Then it
proves that both sides are equal: every row and secret, the root of every log, the decrypted content
of every seal, and a check of the copy. Only then can the database be served, and the directory no
longer. Run it as the role that creates the tables; nothing else in the directory is changed.

  --force               start again in a database where an earlier run was interrupted
  CUSTOS_DATABASE_URL   PostgreSQL to move the data to
  CUSTOS_KEYRING_URL    PostgreSQL to move the keyring to, if it is another database
  CUSTOS_MASTER_KEY     master key of the keyring on PostgreSQL, 64 hex digits; the key in the
                        directory may be another one
${DATA_HELP}
${LEDGER_HELP}`,
  run: moveToPostgres,
}

async function moveToPostgres(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...DATA_OPTIONS,
    force: { type: 'boolean' },
  })
  requirePositionals(positionals)
  const config = readDataConfig(values)
  const progress = startProgress('migrate-engine')
  try {
    const moved = await runMigrateEngine(config, {
      force: values.force ?? false,
      progress: (text) => progress.show(text),
    })
    progress.end()
    for (const line of proofLines(moved)) console.log(line)
  } finally {
    progress.end()
  }
  return 0
}

function proofLines({ tables, keyring, tenants, mark }: MigrationResult): string[] {
  const { secrets, destroyed, signing_keys, entries } = keyring
  return [
    formatTable([
      ['table', 'rows', 'SHA-256 of the rows, on both sides'],
      ...tables.map(({ name, rows, sha256 }) => [name, rows, sha256]),
    ]),
    '',
    formatTable([
      [
        'tenant',
        'log',
        'checkpoint',
        'facts',
        'decisions',
        'stores',
        'root of the log, on both sides',
      ],
      ...tenants.map((proof) => [
        proof.tenant_id,
        proof.tree_size,
        proof.checkpoint_size ?? '-',
        proof.facts,
        proof.decisions,
        proof.stores,
        proof.root_hash ?? '-',
      ]),
    ]),
    '(facts, decisions, stores: seals opened under both keyrings, with equal content)',
    '',
    `keyring: ${secrets} secrets, ${destroyed} destroyed secrets, ${signing_keys} signing keys ` +
      `and ${entries} entries of the erasure ledger are the same on both sides`,
    'fsck of the copy: nothing found',
    '',
    'done. Start the service with CUSTOS_DATABASE_URL and the same CUSTOS_ORIGIN and ledger copy.',
    `Never start both: ${mark} prevents the old directory from being served.`,
    'Keep the directory until you have restored a backup of PostgreSQL once. Then destroy it with',
    'its keys: it still holds what is erased from now on.',
  ]
}
