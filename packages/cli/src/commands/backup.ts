// custos backup: two files from a running service, each useless alone.

import { type BackupFile, runBackup } from '@custos/server'
import { readArguments, requirePositionals } from '../arguments.ts'
import type { Command } from '../command.ts'
import { DATA_HELP, DATA_OPTIONS, readDataConfig } from '../data-options.ts'
import { formatBytes, startProgress } from '../progress.ts'

export const backup: Command = {
  usage: 'DIR [options]',
  help: `Writes custos-<time>.data and custos-<time>.keyring into DIR, readable by you only, while
the service runs or is stopped. Keep the two in different places: each is useless without the other.
The master key is in neither; keep it in a third.

${DATA_HELP}`,
  run: runCommand,
}

async function runCommand(args: readonly string[]): Promise<number> {
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
    for (const file of [data, keyring]) console.log(describe(file))
  } finally {
    progress.end()
  }
  if (config.master_key === null)
    console.log(`the master key is in neither: keep a copy of ${config.data_dir}/master.key apart`)
  return 0
}

const describe = ({ path, bytes, sha256 }: BackupFile): string =>
  `${path}\n  ${bytes} bytes, SHA-256 ${sha256}`
