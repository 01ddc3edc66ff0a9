// Proves that a backup can be restored: does it in a folder of its own, checks everything there,
// and removes the folder.

import assert from 'node:assert/strict'
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { runFsck, type TenantReport } from '../checks/fsck.ts'
import type { RestoredTenant } from './reconcile-restored.ts'
import { requireMasterKey, runRestore } from './restore.ts'
import { openStage, removeStage } from './stage.ts'

interface RehearsalOptions {
  readonly data: string
  readonly keyring: string
  /** Where there is room for the restored data; the folder in it is removed at the end. */
  readonly scratch: string
  progress?(text: string): void
}

/** Of one tenant: what the restore did, and what the check of the restored data found. */
export type RehearsedTenant = RestoredTenant & Pick<TenantReport, 'counts' | 'findings'>

/**
 * Restores both files and checks every log and every seal of the result. The ledger copy is read
 * from a copy of its own: what is signed in a rehearsal must not count as signed by the service.
 * Throws what a restore throws.
 */
export async function rehearseRestore(
  config: Config,
  { data, keyring, scratch, progress = () => {} }: RehearsalOptions,
): Promise<RehearsedTenant[]> {
  const master_key = requireMasterKey(config).toString('hex')
  const stage = openStage(scratch)
  try {
    const ledger_copy = copyLedger(config, stage)
    const aside = { ...config, data_dir: stage, master_key, ledger_copy }
    const { tenants } = await runRestore(aside, { data, keyring, force: true })
    const checked = new Map(
      (await runFsck(aside, { progress })).map((report) => [report.tenant_id, report]),
    )
    return tenants.map((tenant) => {
      const report = checked.get(tenant.tenant_id)
      assert(report !== undefined, `the check has not seen ${tenant.tenant_id}`)
      return { ...tenant, counts: report.counts, findings: report.findings }
    })
  } finally {
    removeStage(stage)
  }
}

function copyLedger({ ledger_copy }: Config, stage: string): string | null {
  if (ledger_copy === null || !existsSync(ledger_copy)) return null
  const copy = join(stage, 'ledger-copy.ndjson')
  copyFileSync(ledger_copy, copy)
  return copy
}
