// A copy of a filled directory and a database to move it into, gone after the test.

import { type Config, parseConfig } from '../../../config/config.ts'
import type { Environment } from '../../../config/env.ts'
import { startTestService } from '../../../testing/harness.ts'
import { createDatabase } from '../../../testing/postgres.ts'
import type { Filled } from './filled-directory.ts'

/** Another one than that of the directory. */
const MASTER_KEY = '77'.repeat(32)

interface Place {
  readonly data_dir: string
  readonly url: string
  readonly config: Config
}

/** A copy of the directory and an empty database. */
export async function inPlace(
  filled: Filled,
  body: (place: Place) => Promise<void>,
): Promise<void> {
  const database = await createDatabase()
  try {
    const data_dir = filled.copy()
    await body({ data_dir, url: database.url, config: configOf(data_dir, database.url) })
  } finally {
    await database.drop()
  }
}

export const configOf = (data_dir: string, url: string, more: Environment = {}): Config =>
  parseConfig({
    ...more,
    CUSTOS_DATA_DIR: data_dir,
    CUSTOS_DATABASE_URL: url,
    CUSTOS_MASTER_KEY: MASTER_KEY,
    CUSTOS_LOG_LEVEL: 'silent',
  })

export const startOn = ({ postgres, master_key }: Config) =>
  startTestService({ config: { postgres, master_key } })
