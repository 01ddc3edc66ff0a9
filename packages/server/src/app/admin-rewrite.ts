// Writing the secrets of a PostgreSQL keyring again, so that what was deleted there opens nothing.

import type { Config } from '../config/config.ts'
import type { Kernel } from '../platform/kernel/kernel.ts'
import { runIfDue } from '../platform/kernel/leases.ts'
import type { RewriteResult } from '../platform/keys/keyring.ts'
import { OfflineError } from '../platform/operator-error.ts'
import { openKernel } from './open/open-kernel.ts'

const HOUR_US = 3_600_000_000

/** For the operator, beside running services. Throws OfflineError on the embedded engine. */
export async function rewriteSecrets(config: Config): Promise<RewriteResult> {
  if (config.postgres === null)
    throw new OfflineError(
      'CUSTOS_DATABASE_URL is not set: the embedded keyring overwrites in place',
    )
  const open = await openKernel({ ...config, log_level: 'error' })
  try {
    const done = await open.kernel.keyring.rewriteSecrets?.()
    if (!done) throw new OfflineError('this keyring does not rewrite')
    return done
  } finally {
    await open.close()
  }
}

/** For the timer: every `hours`, in any one of the processes. */
export async function rewriteWhenDue(kernel: Kernel, hours: number): Promise<void> {
  const { keyring, logger } = kernel
  if (!keyring.rewriteSecrets) return
  const act = async () => {
    const done = await keyring.rewriteSecrets?.()
    logger.info('keyring.rewritten', { ...done })
  }
  await runIfDue(kernel, 'rewrite', { period_us: hours * HOUR_US, act })
}
