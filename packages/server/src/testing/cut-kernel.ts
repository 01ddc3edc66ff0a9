// A kernel on a fresh database behind a stretch of network that can fail.

import type { TestContext } from 'node:test'
import { openKernel } from '../app/open/open-kernel.ts'
import type { Kernel } from '../platform/kernel/kernel.ts'
import { openCuttingProxy } from './cutting-proxy.ts'
import { createDatabase } from './postgres.ts'
import { sharedConfig } from './two-kernels.ts'

/** Closed, and the database dropped, when the test ends. */
export async function openCutKernel(
  t: TestContext,
): Promise<{ kernel: Kernel; cutAfter(bytes: string): void }> {
  const database = await createDatabase()
  const proxy = await openCuttingProxy(database.url)
  const { kernel, close } = await openKernel(sharedConfig(proxy.url))
  t.after(async () => {
    await close()
    await proxy.close()
    await database.drop()
  })
  return { kernel, cutAfter: proxy.cutAfter }
}
