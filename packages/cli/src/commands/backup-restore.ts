// custos backup copies a service into two files; custos restore makes a data directory of them.

import { type BackupFile, type RestoreResult, runBackup, runRestore } from '@custos/server'
import { type Command, readArguments, requirePositionals, UsageError } from '../command.ts'
import { DATA_HELP, DATA_OPTIONS, LEDGER_HELP, readDataConfig } from '../data-options.ts'
import { formatBytes, startProgress } from '../output.ts'

export const backup: Command = {
  usage: 'DIR [options]',
  help: `Writes custos-<time>.data and custos-<time>.keyring into DIR, readable by you only. The
service may run or be stopped. Keep the two files in different places: neither is of use without the
other. The master key is in neither file; keep it in a third place.

${DATA_HELP}`,
  run: backUp,
}

async function backUp(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, DATA_OPTIONS)
  requirePositionals(positionals, 'DIR')
  const config = readDataConfig(values)
  const progress = startProgress('backup')
  try {
    const { data, keyring } = await runBackup(config, {
      dir: positionals[0] ?? '.',
      progress: (text, done, total) =>
        progress.show(`${text} ${formatBytes(done)} of at most ${formatBytes(total)}`),
    })
    progress.end()
    for (const file of [data, keyring]) console.log(fileLine(file))
  } finally {
    progress.end()
  }
  if (config.master_key === null)
    console.log(
      `the master key is in neither file: keep a copy of ${config.data_dir}/master.key elsewhere`,
    )
  return 0
}

const fileLine = ({ path, bytes, sha256 }: BackupFile): string =>
  `${path}\n  ${bytes} bytes, SHA-256 ${sha256}`

export const restore: Command = {
  usage: '--data FILE [--keyring FILE] [--force] [options]',
  help: `Restores a backup into an empty directory, or with --force over existing data. Stop the
service first. Erasures in the newest erasure ledger are applied again: memories erased since the
backup stay erased and keep their certificates. An audit log that is older than its last checkpoint
continues under a new origin, so that two different logs are never signed under one origin.

  --data FILE     the data file of the backup
  --keyring FILE  the keyring file of the backup; omit it if the directory still has its
                  keyring, which is newer than any backup
  --force         replace existing data
${DATA_HELP}
${LEDGER_HELP}`,
  run: restoreBackup,
}

async function restoreBackup(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...DATA_OPTIONS,
    data: { type: 'string' },
    keyring: { type: 'string' },
    force: { type: 'boolean' },
  })
  requirePositionals(positionals)
  if (values.data === undefined) throw new UsageError('--data FILE is missing')
  const config = readDataConfig(values)
  const progress = startProgress('restore')
  try {
    const restored = await runRestore(config, {
      data: values.data,
      ...(values.keyring === undefined ? {} : { keyring: values.keyring }),
      force: values.force ?? false,
      progress: (done, total) => progress.show(`${formatBytes(done)} of ${formatBytes(total)}`),
    })
    progress.end()
    for (const line of tenantLines(restored)) console.log(line)
    console.log(`restored into ${config.data_dir}`)
  } finally {
    progress.end()
  }
  return 0
}

function tenantLines({ tenants, carried_over }: RestoreResult): string[] {
  const lines = tenants.map(
    ({ tenant_id, generation, continued, erased_again, certificates_returned }) =>
      `${tenant_id}: ${erased_again} facts erased again, ` +
      `${certificates_returned} certificates returned, ` +
      (continued ? `log continues as generation ${generation}` : 'log continues unchanged'),
  )
  if (carried_over) return lines
  return [
    ...lines,
    'only the erasure ledger of the backup and its copy, if one was given, could be applied: ' +
      'erase again what was erased later and is in neither',
  ]
}
