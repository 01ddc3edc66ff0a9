// custos restore: puts a backup back and replays the erasures since, before anything is served.

import { type Restored, runRestore } from '@custos/server'
import { readArguments, requirePositionals } from '../arguments.ts'
import { type Command, UsageError } from '../command.ts'
import { DATA_HELP, DATA_OPTIONS, LEDGER_HELP, readDataConfig } from '../data-options.ts'
import { formatBytes, startProgress } from '../progress.ts'

export const restore: Command = {
  usage: '--data FILE [--keyring FILE] [--force] [options]',
  help: `Restores into an empty directory, or with --force over what is there; the service must be
stopped. Erasures the newest ledger knows are applied again: what was erased since the backup stays
erased, its certificates stay. A log that is older than its last checkpoint goes on under a new
origin, so that no two trees are ever signed for one.

  --data FILE     the data file of the backup
  --keyring FILE  the keyring file; leave it out where the directory still has its keyring, which
                  is newer than any backup
  --force         replace data that is there
${DATA_HELP}
${LEDGER_HELP}`,
  run: runCommand,
}

async function runCommand(args: readonly string[]): Promise<number> {
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
    for (const line of describe(restored)) console.log(line)
    console.log(`restored into ${config.data_dir}`)
  } finally {
    progress.end()
  }
  return 0
}

function describe({ tenants, carried_over }: Restored): string[] {
  const lines = tenants.map(
    ({ tenant_id, generation, continued, erased_again, certificates_returned }) =>
      `${tenant_id}: ${erased_again} facts erased again, ` +
      `${certificates_returned} certificates returned, ` +
      (continued ? `log goes on as generation ${generation}` : 'log goes on as it was'),
  )
  if (carried_over) return lines
  return [
    ...lines,
    'only the ledger in the backup and its copy, if one was given, could be replayed: what was ' +
      'erased later and is in neither would have to be erased again',
  ]
}
