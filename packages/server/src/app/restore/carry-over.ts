// What a keyring being replaced knows and its older copy does not: erasures and signed checkpoints.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openFileKeyring } from '../../platform/keys/file/open-file-keyring.ts'
import type { Keyring } from '../../platform/keys/keyring.ts'
import { KeyringError } from '../../platform/keys/keyring-error.ts'

interface CarryOver {
  /** The keyring in use, about to be replaced. */
  readonly from: string
  /** The restored one. */
  readonly to: string
  readonly master_key: Buffer
  /** A ledger copy that takes entries and checkpoints across. */
  readonly ledger_file: string
}

/**
 * Whether the restored keyring now knows everything the replaced one did. `no`: there is none, it
 * is another instance's, or it does not open.
 */
export async function carryOver(task: CarryOver): Promise<'yes' | 'no'> {
  if (!existsSync(join(task.from, 'keyring.db'))) return 'no'
  const current = await openOrNull(task.from, task)
  if (!current) return 'no'
  try {
    // Opening it with the copy has written all that out; this reads it in.
    const restored = await open(task.to, task)
    try {
      return restored.instance_id === current.instance_id ? 'yes' : 'no'
    } finally {
      restored.close()
    }
  } finally {
    current.close()
  }
}

const open = (dir: string, { master_key, ledger_file }: CarryOver): Promise<Keyring> =>
  openFileKeyring({ dir, master_key, now_us: () => 0, ledger_copy: ledger_file })

async function openOrNull(dir: string, task: CarryOver): Promise<Keyring | null> {
  try {
    return await open(dir, task)
  } catch (error) {
    // A damaged keyring is a reason to restore one.
    if (error instanceof KeyringError) return null
    throw error
  }
}
