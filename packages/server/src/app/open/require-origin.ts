// Prevents a change of the name under which the audit logs of an instance are signed.

import { parseCheckpoint } from '@custos/proof'
import { wrong } from '../../config/env.ts'
import { DataError } from '../../platform/db/sqlite/instance.ts'
import type { Keyring } from '../../platform/keys/keyring.ts'

/** The configured origin, or the default of the instance. */
export const originOfInstance = (set: string | null, instance_id: string): string =>
  set ?? `custos/${instance_id}`

/** Starts with a slash, has an empty segment, or contains other parts of a URL. */
const MISSPELLED = /^\/|\/\/|\/$|[*?#@]/

/**
 * Throws ConfigError if nothing is signed yet and the origin is misspelled, because it can never be
 * changed. Throws DataError if checkpoints are signed, but none under this origin: a log that is
 * signed under two names can never be trusted again.
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
