// Keeps the name under which the audit logs of an instance are signed.

import { parseCheckpoint } from '@custos/proof'
import { wrong } from '../../config/env.ts'
import { DataError } from '../../platform/db/sqlite/database-file.ts'
import type { Keyring } from '../../platform/keys/keyring.ts'

/** The origin that is set, or that of an instance whose operator set none. */
export const originOfInstance = (set: string | null, instance_id: string): string =>
  set ?? `custos/${instance_id}`

/** A scheme, slashes without a name between them, or what belongs to other parts of a URL. */
const MISSPELLED = /^\/|\/\/|\/$|[*?#@]/

/**
 * ConfigError where nothing is signed yet and the origin is misspelled, for it stays for ever.
 * DataError where checkpoints were signed, and none of them under this origin: a log that is signed
 * under two names is unsound for ever.
 */
export async function requireOrigin(keyring: Keyring, set: string | null): Promise<void> {
  const origin = originOfInstance(set, keyring.instance_id)
  if (await keyring.checkpoints.any(`${origin}/`)) return
  const other = await keyring.checkpoints.any()
  if (!other) {
    if (set === null || !MISSPELLED.test(set)) return
    throw wrong('CUSTOS_ORIGIN', 'must be a URL without its scheme, such as custos.example.com/eu')
  }
  const { origin: name } = parseCheckpoint(other.checkpoint)
  const signed = name.slice(0, name.lastIndexOf(`/${other.tenant_id}`))
  throw new DataError(
    `the audit logs of this data are signed as ${signed}: set CUSTOS_ORIGIN, or --origin, to it ` +
      `(now ${origin})`,
  )
}
