// Loads the master key from the configuration, or from a file that the first start creates.

import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFileDurably } from './durable-file.ts'
import { KeyringError } from './keyring-error.ts'
import { KEY_BYTES } from './wrap.ts'

const FILE = 'master.key'
const HEX = /^[0-9a-fA-F]{64}$/

/**
 * The configured key (64 hex digits), else that of `<data_dir>/master.key`, else a new one written
 * there with mode 0600. `master_key_missing` instead of a new key when there is a keyring, which
 * a new key could not open. `generated`: this call created the key, of which the operator should be
 * informed once.
 */
export function loadMasterKey(options: { given?: string | undefined; data_dir: string }): {
  readonly key: Buffer
  readonly generated: boolean
} {
  const { given, data_dir } = options
  if (given !== undefined) return { key: parseMasterKey(given, 'the given'), generated: false }
  const path = join(data_dir, FILE)
  if (existsSync(path)) return { key: readKeyFile(path), generated: false }
  if (existsSync(join(data_dir, 'keyring', 'keyring.db')))
    throw new KeyringError(
      'master_key_missing',
      `${data_dir} has a keyring but no ${FILE}, and no master key was given`,
    )
  return generateKeyFile(data_dir, path)
}

function parseMasterKey(text: string, whose: string): Buffer {
  if (!HEX.test(text))
    throw new KeyringError('bad_master_key', `${whose} master key is not 64 hex digits`)
  return Buffer.from(text, 'hex')
}

function readKeyFile(path: string): Buffer {
  return parseMasterKey(readFileSync(path, 'utf8').trim(), `${path}: the`)
}

// If two first starts race, one creates the key and the other uses it.
function generateKeyFile(data_dir: string, path: string): ReturnType<typeof loadMasterKey> {
  mkdirSync(data_dir, { recursive: true, mode: 0o700 })
  const key = randomBytes(KEY_BYTES)
  try {
    createFileDurably(path, Buffer.from(`${key.toString('hex')}\n`))
  } catch (error) {
    if (!existsSync(path)) throw error
    return { key: readKeyFile(path), generated: false }
  }
  return { key, generated: true }
}
