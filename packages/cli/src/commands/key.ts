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
import { type Command, readArguments, requirePositionals, UsageError } from '../command.ts'
import { DATA_HELP, DATA_OPTIONS, LEDGER_HELP, readDataConfig } from '../data-options.ts'
import { formatTable } from '../output.ts'

export const key: Command = {
  usage: 'list | rotate PURPOSE|all | retire PURPOSE | rotate-master | rewrite [options]',
  help: `Purposes: ${SIGNING_PURPOSES.join(', ')}.

  list           every signing key, retired ones included; the service may run
  rotate         create a new key; older signatures stay verifiable. Every audit log records it
  retire         stop signing for this purpose: operations that need a key are refused (503)
  rotate-master  wrap the keyring under a new master key: the one in --new-key-file, or a random
                 one, which replaces the file of the old one
  rewrite        on PostgreSQL: encrypt every secret under new keys and rewrite the tables, so
                 that deleted rows on disk cannot be decrypted. Run it as the role that migrates

Stop the service for all of them but list; on PostgreSQL only for rotate-master, unless its
processes have the new key as CUSTOS_NEXT_MASTER_KEY.

  --new-key-file FILE
      file with the new master key, 64 hex digits
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
    const purposes = parsePurposes(rest[0] ?? '', verb)
    await changeKeys(config, (kernel) =>
      verb === 'rotate' ? rotateSigningKeys(kernel, purposes) : retireAll(kernel, purposes),
    )
  } else if (verb === 'rotate-master') {
    requirePositionals(rest)
    await changeMasterKey(config, values['new-key-file'])
  } else if (verb === 'rewrite') {
    requirePositionals(rest)
    await rewriteKeyring(config)
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

function parsePurposes(word: string, verb: string): SigningPurpose[] {
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

async function changeKeys(
  config: Config,
  act: (kernel: Kernel) => Promise<KeyChange[]>,
): Promise<void> {
  const open = await openKernel({ ...config, log_level: 'error' })
  try {
    for (const { purpose, key: next, previous_key_id } of await act(open.kernel))
      console.log(
        next
          ? `${purpose}: ${next.key_id} signs from now on; before it ${previous_key_id ?? 'none'}`
          : `${purpose}: ${previous_key_id ?? 'none'} is retired, nothing is signed until a rotate`,
      )
  } finally {
    await open.close()
  }
}

async function changeMasterKey(config: Config, file: string | undefined): Promise<void> {
  const { key_file, from_environment } = await rotateMasterKey(config, file)
  console.log(
    from_environment
      ? `the keyring has a new master key: set CUSTOS_MASTER_KEY to the key in ${key_file}`
      : `the keyring has a new master key: the key is now ${key_file}, update your copy of it`,
  )
}

async function rewriteKeyring(config: Config): Promise<void> {
  const { secrets, dead_rows_left } = await rewriteSecrets(config)
  console.log(`${secrets} secrets encrypted under new keys`)
  if (dead_rows_left > 0)
    console.log(
      `${dead_rows_left} deleted rows are still visible to an open snapshot: run it again later`,
    )
}
