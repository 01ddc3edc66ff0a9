// A process for the tests of the ledger copy: requests erasures until it is killed or the copy
// cannot be written, and prints each request that was acknowledged.

import { writeSync } from 'node:fs'
import { KeyringError } from '../keyring-error.ts'
import { openPostgresKeyring } from '../postgres/open-postgres-keyring.ts'
import { MASTER, NOW_US } from './temp-keyring.ts'

const [, , url = '', ledger_copy = '', first = '', bytes = ''] = process.argv
const ROUNDS_MAX = 5_000

const keyring = await openPostgresKeyring({
  url,
  ledger_copy,
  master_key: MASTER,
  now_us: () => NOW_US,
})
const plan = 'x'.repeat(Number(bytes))
const row = { tenant_id: 'acme', subject_kind: 'fact', store_id: null, requested_us: 1 } as const
writeSync(1, 'opened\n')
try {
  for (let subject = Number(first); subject < Number(first) + ROUNDS_MAX; subject += 1) {
    await keyring.ledger.request([{ ...row, subject: String(subject), plan }])
    writeSync(1, `${subject}\n`)
  }
} catch (error) {
  if (!(error instanceof KeyringError) || error.code !== 'ledger_copy_failed') throw error
  writeSync(1, 'failed\n')
}
await keyring.close()
