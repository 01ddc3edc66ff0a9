// A process for the crash tests: reserves and erases until it is killed, and prints each step that
// was acknowledged.

import { writeSync } from 'node:fs'
import { openFileKeyring } from '../file/open-file-keyring.ts'
import { MASTER, NOW_US } from './temp-keyring.ts'

const [, , dir = '', ledger_copy = ''] = process.argv
const COUNT = 4
const ROUNDS_MAX = 5000

function tell(line: string): void {
  writeSync(1, `${line}\n`)
}

const keyring = await openFileKeyring({
  dir,
  ledger_copy,
  master_key: MASTER,
  now_us: () => NOW_US,
})
await keyring.createTenant('acme')
tell('opened')
for (let round = 0; round < ROUNDS_MAX; round += 1) {
  const block = await keyring.reserve('acme', 'fact', { at_least: 1, count: COUNT })
  const numbers = Array.from({ length: COUNT }, (_, i) => block.first + i)
  tell(`reserved ${numbers.map((n) => `${n}:${block.secretAt(n).toString('hex')}`).join(' ')}`)
  const subject = String(block.first)
  const row = { tenant_id: 'acme', subject_kind: 'fact', store_id: null, requested_us: 1 } as const
  await keyring.ledger.request([{ ...row, subject, plan: {} }])
  tell(`requested ${subject}`)
  await keyring.destroySecrets('acme', 'fact', [block.first])
  tell(`destroyed ${subject}`)
}
