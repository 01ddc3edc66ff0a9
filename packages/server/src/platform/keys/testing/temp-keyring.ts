// A keyring in a directory of its own, removed after the test.

import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openFileKeyring } from '../file/open-file-keyring.ts'
import type { Keyring } from '../keyring.ts'

export const MASTER = createHash('sha256').update('test master key').digest()
export const NOW_US = 1_795_000_000_000_000

export function tempDirectory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'custos-keys-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

interface TempKeyringOptions {
  readonly dir: string
  readonly master_key?: Buffer
  readonly ledger_copy?: string
  readonly read_only?: boolean
}

/** Opens, and closes when the test ends. */
export async function openKeyring(t: TestContext, opening: TempKeyringOptions): Promise<Keyring> {
  const keyring = await openFileKeyring({ master_key: MASTER, now_us: () => NOW_US, ...opening })
  t.after(() => {
    try {
      keyring.close()
    } catch {
      // The test has closed it already.
    }
  })
  return keyring
}

/** How many of `needles` occur in any file below `dir`. */
export function countNeedles(dir: string, needles: readonly Buffer[]): number {
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path))
  return needles.filter((needle) => files.some((bytes) => bytes.includes(needle))).length
}
