// A kernel on a real engine and a real keyring in a fresh directory, for tests below HTTP.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type OpenKernel, openKernel } from '../app/open-kernel.ts'
import { parseConfig } from '../config/config.ts'
import type { Kernel } from '../platform/kernel.ts'

export interface TestKernel {
  readonly kernel: Kernel
  readonly data_dir: string
  readonly database: string
  close(options?: { keep?: boolean }): Promise<void>
}

export async function openTestKernel(
  options: { data_dir?: string; tenants?: readonly string[] } = {},
): Promise<TestKernel> {
  const data_dir = options.data_dir ?? mkdtempSync(join(tmpdir(), 'custos-kernel-'))
  const config = parseConfig({ CUSTOS_DATA_DIR: data_dir, CUSTOS_LOG_LEVEL: 'silent' })
  const open: OpenKernel = await openKernel(config)
  for (const tenant of options.tenants ?? ['t1']) await open.kernel.keyring.createTenant(tenant)
  return {
    kernel: open.kernel,
    data_dir,
    database: open.kernel.db.path,
    async close({ keep = false } = {}) {
      await open.close()
      if (!keep) rmSync(data_dir, { recursive: true, force: true })
    },
  }
}
