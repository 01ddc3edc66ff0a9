// custos key: the signing keys and the master key of a data directory.

import {
  type Config,
  type Kernel,
  type KeyChange,
  openKernel,
  openReadOnly,
  retireSigningKey,
  rewriteSecrets,
  rotateMasterKey,
  rotateSigningKeys,
  SIGNING_PURPOSES,
  type SigningPurpose,
} from '@custos/server'
import { readArguments, requirePositionals } from '../arguments.ts'
import { type Command, UsageError } from '../command.ts'
import { DATA_HELP, DATA_OPTIONS, LEDGER_HELP, readDataConfig } from '../data-options.ts'
import { formatTable } from '../table.ts'

export const key: Command = {
  usage:
    'list | rotate PURPOSE|all | retire PURPOSE | rotate-master [--new-key-file FILE] | rewrite',
  help: `Purposes: ${SIGNING_PURPOSES.join(', ')}.

  list           every signing key there ever was; also while the service runs
  rotate         a new key; what the old one signed stays verifiable. Every log records it
  retire         no key for the purpose from now on: what needs one is refused (503)
  rotate-master  wraps the keyring under a new master key: a random one, put where the old one
                 lay, or the one in FILE (64 hex digits)
  rewrite        on PostgreSQL: writes every secret again under new keys and the tables anew, so
                 that what was deleted opens nothing any more. As the role that migrates

All but list need the service to be stopped; on PostgreSQL only rotate-master does.

${DATA_HELP}
${LEDGER_HELP}`,
  run: runKey,
}

async function runKey(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...DATA_OPTIONS,
    'new-key-file': { type: 'string' },
  })
  const [verb, ...rest] = positionals
  const config = readDataConfig(values)
  if (verb === 'list') {
    requirePositionals(rest)
    await listKeys(config)
  } else if (verb === 'rotate' || verb === 'retire') {
    requirePositionals(rest, 'PURPOSE')
    const purposes = purposesOf(rest[0] ?? '', verb)
    await change(config, (kernel) =>
      verb === 'rotate' ? rotateSigningKeys(kernel, purposes) : retireAll(kernel, purposes),
    )
  } else if (verb === 'rotate-master') {
    requirePositionals(rest)
    await changeMaster(config, values['new-key-file'])
  } else if (verb === 'rewrite') {
    requirePositionals(rest)
    await rewrite(config)
  } else throw new UsageError('expected list, rotate, retire, rotate-master or rewrite')
  return 0
}

async function listKeys(config: Config): Promise<void> {
  const open = await openReadOnly(config)
  try {
    const rows = open.kernel.keyring
      .publishedKeys()
      .map((k) => [k.purpose, k.key_id, k.valid_from, k.retired_at ?? 'current', k.public_key])
    console.log(
      formatTable([['purpose', 'key id', 'valid from', 'retired', 'public key'], ...rows]),
    )
  } finally {
    await open.close()
  }
}

function purposesOf(word: string, verb: string): SigningPurpose[] {
  if (word === 'all' && verb === 'rotate') return [...SIGNING_PURPOSES]
  const purpose = SIGNING_PURPOSES.find((known) => known === word)
  if (purpose) return [purpose]
  throw new UsageError(`there is no purpose "${word}": ${SIGNING_PURPOSES.join(', ')}`)
}

async function retireAll(kernel: Kernel, purposes: readonly SigningPurpose[]) {
  const changes: KeyChange[] = []
  for (const purpose of purposes) changes.push(await retireSigningKey(kernel, purpose))
  return changes
}

async function change(
  config: Config,
  act: (kernel: Kernel) => Promise<KeyChange[]>,
): Promise<void> {
  const open = await openKernel({ ...config, log_level: 'error' })
  try {
    for (const { purpose, key: next, previous_key_id } of await act(open.kernel))
      console.log(
        next
          ? `${purpose}: ${next.key_id} signs from now on, ${previous_key_id ?? 'none'} before`
          : `${purpose}: ${previous_key_id ?? 'none'} is retired, nothing is signed until a rotate`,
      )
  } finally {
    await open.close()
  }
}

async function changeMaster(config: Config, file: string | undefined): Promise<void> {
  const { key_file, from_environment } = await rotateMasterKey(config, file)
  console.log(
    from_environment
      ? `the keyring is wrapped again: set CUSTOS_MASTER_KEY to the key in ${key_file}`
      : `the keyring is wrapped again: the new master key is ${key_file}, replace your copy of it`,
  )
}

async function rewrite(config: Config): Promise<void> {
  const { secrets, dead_rows_left } = await rewriteSecrets(config)
  console.log(`${secrets} secrets written again under new keys`)
  if (dead_rows_left > 0)
    console.log(`${dead_rows_left} deleted rows are still seen by an open snapshot: run it again`)
}
