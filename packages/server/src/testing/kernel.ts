// A kernel on a real engine and a real keyring in a fresh directory, for tests below HTTP.

import { type OpenKernel, openKernel } from '../app/open/open-kernel.ts'
import { parseConfig } from '../config/config.ts'
import { databasePath } from '../platform/db/data-dir.ts'
import type { Kernel } from '../platform/kernel/kernel.ts'
import { openTestData } from './test-data.ts'

export interface TestKernel {
  readonly kernel: Kernel
  readonly data_dir: string
  readonly database: string
  close(options?: { keep?: boolean }): Promise<void>
}

export async function openTestKernel(
  options: { data_dir?: string; tenants?: readonly string[] } = {},
): Promise<TestKernel> {
  const { data_dir, env, remove } = await openTestData('custos-kernel-', options.data_dir)
  const config = parseConfig({ ...env, CUSTOS_LOG_LEVEL: 'silent' })
  const open: OpenKernel = await openKernel(config)
  for (const tenant of options.tenants ?? ['t1']) await open.kernel.keyring.createTenant(tenant)
  return {
    kernel: open.kernel,
    data_dir,
    database: databasePath(data_dir),
    async close({ keep = false } = {}) {
      await open.close()
      if (!keep) await remove()
    },
  }
}
