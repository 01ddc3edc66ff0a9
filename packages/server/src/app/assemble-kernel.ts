// The kernel's parts put together, the same for every engine and for looking only.

import type { Config } from '../config/config.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/database.ts'
import type { Embedders } from '../platform/embed/embedders.ts'
import { systemIds } from '../platform/ids.ts'
import { JobWorker } from '../platform/jobs/worker.ts'
import type { Kernel } from '../platform/kernel.ts'
import type { Keyring } from '../platform/keys/keyring.ts'
import type { Logger } from '../platform/logger.ts'
import { loadTokenizer } from '../platform/tokens/tokenizer.ts'
import { VERSION } from './version.ts'

/** How long a read waits for the index of its store. */
const INDEX_WAIT_MS = 2_000
const LEASE_MS = 30_000

export interface KernelParts {
  readonly config: Config
  readonly clock: Clock
  readonly logger: Logger
  readonly db: Database
  readonly keyring: Keyring
  readonly embedders: Embedders
  /** Named points that crash tests stop at. */
  readonly step?: ((name: string) => void | Promise<void>) | undefined
  /** 30 seconds unless a test cannot wait for that. */
  readonly lease_ms?: number | undefined
}

export function assembleKernel(parts: KernelParts): Kernel {
  const { config, clock, logger, db, keyring, embedders, step, lease_ms = LEASE_MS } = parts
  return {
    settings: {
      origin: config.origin ?? `custos/${keyring.instance_id}`,
      version: VERSION,
      auth: config.auth,
      default_tokenizer: 'o200k_base',
      index_bytes_max: config.index_bytes_max,
      index_wait_ms: INDEX_WAIT_MS,
      lease_ms,
    },
    clock,
    ids: systemIds,
    logger,
    db,
    keyring,
    jobs: new JobWorker({ db, clock, ids: systemIds, logger, lease_ms }),
    embedders,
    tokenizer: loadTokenizer,
    step: step ?? (() => {}),
  }
}
