// custos usage recount: counters that differ from the audit log are found and set right.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { runCustos } from '../../testing/run.ts'
import { serveLocally } from '../../testing/serve-locally.ts'

const judgment = { decision: 'certify', agent_handle: 'agent' }
const asked = { store_id: 'default', model_id: 'm', query: 'q' }

test('a counter that was changed is a finding, and is counted again', async (t) => {
  const { data_dir, call, stop } = await serveLocally(t)
  for (const invoice_id of ['one', 'two'])
    await call('POST', '/v1/governed/decisions', { ...judgment, invoice_id })
  await call('POST', '/v1/decisions/log', { ...asked, output: 'o' })
  await stop()
  const recount = ['usage', 'recount', '--data-dir', data_dir]
  const right = await runCustos(recount)
  assert.equal(right.status, 0, right.stderr)
  assert.match(right.stdout, /^1 tenants counted, 0 counters corrected\n$/)

  const change = (sql: string) => {
    const db = new DatabaseSync(join(data_dir, 'custos.db'))
    db.exec(sql)
    db.close()
  }
  change(`update usage set count = 9 where operation = 'g/certify'`)
  const checked = await runCustos(['fsck', '--data-dir', data_dir])
  assert.equal(checked.status, 1)
  assert.match(checked.stdout, /usage certify: the counter is larger than the number on the log/)

  const corrected = await runCustos([...recount, '--tenant', 'local'])
  assert.match(corrected.stdout, /^local +\d{4}-\d\d +certify +9 +2$/m)
  assert.match(corrected.stdout, /1 tenants counted, 1 counters corrected\n$/)
  const sound = await runCustos(['fsck', '--data-dir', data_dir])
  assert.equal(sound.status, 0, sound.stdout)
})

test('a wrong command line is refused', async () => {
  for (const args of [['usage'], ['usage', 'count'], ['usage', 'recount', 'more']])
    assert.equal((await runCustos(args)).status, 2)
})
