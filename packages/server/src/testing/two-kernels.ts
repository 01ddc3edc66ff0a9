// Two kernels on one fresh database, as two processes have them.

import type { TestContext } from 'node:test'
import { type KernelOptions, type OpenKernel, openKernel } from '../app/open/open-kernel.ts'
import { type Config, parseConfig } from '../config/config.ts'
import { createDatabase } from './postgres.ts'

/** For any number of kernels or services on the database. */
export const sharedConfig = (database_url: string): Config =>
  parseConfig({
    CUSTOS_DATABASE_URL: database_url,
    CUSTOS_MASTER_KEY: '5a'.repeat(32),
    CUSTOS_DATABASE_POOL: '3',
    CUSTOS_LOG_LEVEL: 'silent',
  })

/**
 * Closed, and the database dropped, when the test ends.
 * @param others options of the second where they differ
 */
export async function openTwoKernels(
  t: TestContext,
  options: KernelOptions = {},
  others: KernelOptions = {},
): Promise<[OpenKernel, OpenKernel]> {
  const database = await createDatabase()
  const config = sharedConfig(database.url)
  const one = await openKernel(config, options)
  const two = await openKernel(config, { ...options, ...others })
  t.after(async () => {
    await Promise.all([one.close(), two.close()])
    await database.drop()
  })
  return [one, two]
}
