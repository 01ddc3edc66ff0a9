// custos migrate-engine: moves the data of the embedded engine to PostgreSQL, with proof.

import { type Moved, runMigrateEngine } from '@custos/server'
import { readArguments, requirePositionals } from '../arguments.ts'
import type { Command } from '../command.ts'
import { DATA_HELP, DATA_OPTIONS, LEDGER_HELP, readDataConfig } from '../data-options.ts'
import { startProgress } from '../progress.ts'
import { formatTable } from '../table.ts'

export const migrateEngine: Command = {
  usage: '[--force] [options]',
  help: `Copies a data directory whose service is stopped into an empty PostgreSQL database: rows,
log, keys, secrets, erasure ledger and checkpoints. What was destroyed is not brought. Then it
proves that both are the same: every row and secret, the root of every log, what seals open to, and
a check of the copy. Only after that the database can be served, and the directory no longer can.
Run it as the role that makes the tables; the directory is otherwise left as it is.

  --force               start over in a database where an earlier run was interrupted
  CUSTOS_DATABASE_URL   PostgreSQL to move the data to
  CUSTOS_KEYRING_URL    PostgreSQL to move the keyring to, when it is another one
  CUSTOS_MASTER_KEY     master key of the keyring on PostgreSQL, 64 hex digits; the key in the
                        directory opens what is there, where it is another one
${DATA_HELP}
${LEDGER_HELP}`,
  run: runCommand,
}

async function runCommand(args: readonly string[]): Promise<number> {
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
    for (const line of describe(moved)) console.log(line)
  } finally {
    progress.end()
  }
  return 0
}

function describe({ tables, keyring, tenants, mark }: Moved): string[] {
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
    '(facts, decisions and stores: seals opened under both keyrings, to the same)',
    '',
    `keyring: ${secrets} secrets, ${destroyed} destroyed numbers, ${signing_keys} signing keys ` +
      `and ${entries} entries of the erasure ledger are the same on both sides`,
    'fsck of the copy: nothing found',
    '',
    'done. Start the service with CUSTOS_DATABASE_URL and the same CUSTOS_ORIGIN and ledger copy.',
    `Never start both: ${mark} keeps the old directory from being served.`,
    'Keep the directory until a backup of PostgreSQL was restored once; then destroy it, its keys',
    'with it: what is erased from now on is still in it.',
  ]
}
