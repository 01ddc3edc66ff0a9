// custos backup copies a service into two files; custos restore makes a data directory from them.

import { writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import {
  type BackupFile,
  type Config,
  type RehearsedTenant,
  type RestoreResult,
  rehearseRestore,
  runBackup,
  runRestore,
  VERSION,
} from '@custos/server'
import { type Command, readArguments, requirePositionals, UsageError } from '../command.ts'
import { DATA_HELP, DATA_OPTIONS, LEDGER_HELP, readDataConfig } from '../data-options.ts'
import { formatBytes, startProgress } from '../output.ts'
import { printReports } from './fsck.ts'

const REHEARSAL_OPTIONS = { scratch: { type: 'string' }, report: { type: 'string' } } as const

const REHEARSAL_HELP = `  --scratch DIR   where the rehearsal restores to (default: the directory of
                  the backup) and removes it again; it needs the room of the restored data
  --report FILE   write what the rehearsal found as JSON`

export const backup: Command = {
  usage: 'DIR [--verify] [options]',
  help: `Writes custos-<time>.data and custos-<time>.keyring into DIR, readable by you only. The
service may run or be stopped. Keep the two files in different places: neither is of use without the
other. The master key is in neither file; keep it in a third place.

  --verify        restore the backup into a scratch directory, check every log and every seal
                  there, print the result and remove it; exit status 1 if anything is found
${REHEARSAL_HELP}
${DATA_HELP}
${LEDGER_HELP}`,
  run: backUp,
}

async function backUp(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...DATA_OPTIONS,
    ...REHEARSAL_OPTIONS,
    verify: { type: 'boolean' },
  })
  requirePositionals(positionals, 'DIR')
  if (values.verify !== true) refuseRehearsalOptions(values, '--verify')
  const config = readDataConfig(values)
  const dir = positionals[0] ?? '.'
  const progress = startProgress('backup')
  let files: Readonly<Record<'data' | 'keyring', string>>
  try {
    const { data, keyring } = await runBackup(config, {
      dir,
      progress: (text, done, total) =>
        progress.show(`${text} ${formatBytes(done)} of at most ${formatBytes(total)}`),
    })
    progress.end()
    for (const file of [data, keyring]) console.log(fileLine(file))
    files = { data: data.path, keyring: keyring.path }
  } finally {
    progress.end()
  }
  if (config.master_key === null)
    console.log(
      `the master key is in neither file: keep a copy of ${config.data_dir}/master.key elsewhere`,
    )
  return values.verify === true ? rehearse(config, files, values) : 0
}

function refuseRehearsalOptions(
  { scratch, report }: { readonly scratch?: string; readonly report?: string },
  needed: string,
): void {
  for (const [name, value] of Object.entries({ scratch, report }))
    if (value !== undefined) throw new UsageError(`--${name} needs ${needed}`)
}

const fileLine = ({ path, bytes, sha256 }: BackupFile): string =>
  `${path}\n  ${bytes} bytes, SHA-256 ${sha256}`

export const restore: Command = {
  usage: '--data FILE [--keyring FILE] [--force | --rehearse] [options]',
  help: `Restores a backup into an empty directory, or with --force over existing data. Stop the
service first. Erasures in the newest erasure ledger are applied again: memories erased since the
backup stay erased and keep their certificates. An audit log that is older than its last checkpoint
continues under a new origin, so that two different logs are never signed under one origin.

  --data FILE     the data file of the backup
  --keyring FILE  the keyring file of the backup; omit it if the directory still has its
                  keyring, which is newer than any backup
  --force         replace existing data
  --rehearse      restore both files into a scratch directory, check every log and every seal
                  there, print the result and remove it; the data directory gives the master key
                  only, and its service may run
${REHEARSAL_HELP}
${DATA_HELP}
${LEDGER_HELP}`,
  run: restoreBackup,
}

async function restoreBackup(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...DATA_OPTIONS,
    ...REHEARSAL_OPTIONS,
    data: { type: 'string' },
    keyring: { type: 'string' },
    force: { type: 'boolean' },
    rehearse: { type: 'boolean' },
  })
  requirePositionals(positionals)
  if (values.data === undefined) throw new UsageError('--data FILE is missing')
  if (values.rehearse !== true) refuseRehearsalOptions(values, '--rehearse')
  const config = readDataConfig(values)
  if (values.rehearse === true) {
    if (values.keyring === undefined) throw new UsageError('--rehearse needs --keyring FILE')
    return rehearse(config, { data: values.data, keyring: values.keyring }, values)
  }
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

/** Prints the result of restoring these files. The exit status is 1 if its check has findings. */
async function rehearse(
  config: Config,
  files: Readonly<Record<'data' | 'keyring', string>>,
  {
    scratch = dirname(files.data),
    report,
  }: { readonly scratch?: string; readonly report?: string },
): Promise<number> {
  const progress = startProgress('rehearsal')
  let tenants: RehearsedTenant[]
  try {
    tenants = await rehearseRestore(config, {
      ...files,
      scratch: resolve(scratch),
      progress: (text) => progress.show(text),
    })
  } finally {
    progress.end()
  }
  const sound = tenants.every(({ findings }) => findings.length === 0)
  if (report !== undefined) {
    const text = JSON.stringify({ version: VERSION, ...files, sound, tenants }, null, 2)
    writeFileSync(report, `${text}\n`, { mode: 0o600 })
  }
  for (const line of tenantLines({ tenants, carried_over: true })) console.log(line)
  printReports(tenants)
  console.log(
    sound ? 'the backup restores' : 'the backup restores, and what is restored is unsound',
  )
  return sound ? 0 : 1
}
