// One PostgreSQL for a whole run of the tests, unless CUSTOS_TEST_DATABASE_URL names one.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { ROOT } from './files.ts'

const URL_VARIABLE = 'CUSTOS_TEST_DATABASE_URL'

/** Sets the variable; the server stops when its standard input ends, however this process ends. */
export async function startPostgres(): Promise<{ stop(): Promise<void> }> {
  if (process.env[URL_VARIABLE]) return { stop: async () => {} }
  const keeper = spawn(process.execPath, ['packages/server/src/testing/postgres-keeper.ts'], {
    cwd: ROOT,
    // An interrupt at the terminal is for the tests; the server ends after them.
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(keeper, 'exit')
  const line = once(createInterface(keeper.stdout), 'line')
  const [url] = await Promise.race([line, exited.then(() => [])])
  if (url === undefined) throw new Error('PostgreSQL for tests could not be started')
  process.env[URL_VARIABLE] = String(url)
  return {
    async stop() {
      keeper.stdin.end()
      await exited
    },
  }
}
