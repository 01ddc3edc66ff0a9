// A service on a database that further services of the same test are on as well.

import type { KernelOptions } from '../app/open/open-kernel.ts'
import { type Service, startService } from '../app/start.ts'
import { parseConfig } from '../config/config.ts'
import { OPERATOR_KEY } from './harness.ts'

export type { Service }

/** The caller stops it. */
export const startShared = (
  database_url: string,
  options: KernelOptions,
  env: Parameters<typeof parseConfig>[0] = {},
): Promise<Service> =>
  startService(
    parseConfig({
      CUSTOS_DATABASE_URL: database_url,
      CUSTOS_MASTER_KEY: '5a'.repeat(32),
      CUSTOS_DATABASE_POOL: '4',
      CUSTOS_LOG_LEVEL: 'silent',
      CUSTOS_PORT: '0',
      CUSTOS_AUTH: 'required',
      CUSTOS_OPERATOR_KEY: OPERATOR_KEY,
      CUSTOS_EPOCH_SECONDS: '0',
      ...env,
    }),
    options,
  )
