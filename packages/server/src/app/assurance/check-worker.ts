// The thread that checks data, which it opens read-only, as `custos fsck` does.

import { parentPort, workerData } from 'node:worker_threads'
import type { Config } from '../../config/config.ts'
import type { CheckReport, CheckTask } from '../../slices/assurance/index.ts'
import { openReadOnly } from '../open/open-read-only.ts'
import type { ThreadReply } from './assurance-threads.ts'
import { checkTenantData } from './check-tenant.ts'

// Set by `AssuranceThreads`, in the same process.
const config: Config = workerData

async function answer(task: CheckTask): Promise<ThreadReply<CheckReport>> {
  try {
    const open = await openReadOnly(config)
    try {
      return { done: await checkTenantData(open, task) }
    } finally {
      await open.close()
    }
  } catch (error) {
    return { error: error instanceof Error ? error.name : 'unknown' }
  }
}

parentPort?.on('message', async (task: CheckTask) => {
  parentPort?.postMessage(await answer(task))
})
