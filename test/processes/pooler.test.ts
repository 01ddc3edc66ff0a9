// Two processes behind PgBouncer in transaction mode, where the machine has it.

import { test } from 'node:test'
import { findPgbouncer, startPgbouncer } from '../../packages/server/src/testing/pgbouncer.ts'
import { loadAndCheck } from './testing/mixed-load.ts'

const program = findPgbouncer()

test('two processes behind a pooler keep every promise', async (t) => {
  if (program === undefined) {
    t.diagnostic('PgBouncer is not installed here: the service was not run through it')
    return
  }
  // The keyring's connections are its own.
  const settings = async (url: string) => {
    const pooler = await startPgbouncer(program, url)
    t.after(() => pooler.stop())
    return { CUSTOS_DATABASE_URL: pooler.url, CUSTOS_KEYRING_URL: url }
  }
  await loadAndCheck(t, { processes: 2, load_ms: 4_000, settings })
})
