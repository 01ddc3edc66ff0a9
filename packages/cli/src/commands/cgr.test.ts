// custos cgr recompute: while a service runs, and after a sum was changed outside it.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { runCustos, tempDirectory } from '../testing/run.ts'
import { OPERATOR_KEY, serveLocally } from '../testing/serve-locally.ts'

test('the sums of a running service are those of its log, until one is changed', async (t) => {
  const { data_dir, call, stop } = await serveLocally(t)
  const refs = ['one', 'two', 'three']
  for (const invoice_id of refs)
    await call('POST', '/v1/governed/decisions', {
      ...{ decision: 'certify', agent_handle: 'a secret name', invoice_id },
    })
  const reviews = refs.map((invoice_ref) => ({ invoice_ref, reviewer_handle: 'r', rating: 0.5 }))
  await call('POST', '/v1/governed/reviews/bulk', reviews)
  await call('POST', '/v1/governed/outcomes', { invoice_ref: 'one', outcome: 'paid' })

  const args = ['cgr', 'recompute', '--data-dir', data_dir]
  const sound = await runCustos(args)
  assert.equal(sound.status, 0, sound.stderr)
  assert.match(sound.stdout, /^local +7 +1 +3 +1 +3 +[0-9a-f]{64} +0$/m)
  assert.match(sound.stdout, /no differences\n$/)
  await stop()

  const db = new DatabaseSync(join(data_dir, 'custos.db'))
  db.exec('update cgr_agents set n_success = 2')
  db.close()
  const changed = await runCustos([...args, '--tenant', 'local'])
  assert.equal(changed.status, 1)
  assert.match(
    changed.stdout,
    /cgr_agents [0-9a-f]{64}: n_success is 2, the log gives 1\n1 differences/,
  )
  assert.ok(!changed.stdout.includes('secret name'))
  const checked = await runCustos(['fsck', '--data-dir', data_dir])
  assert.match(checked.stdout, /reputation cgr_agents [0-9a-f]{64}: n_success is 2/)
})

test('the scores of an off-boarded tenant, which went with it, are no difference', async (t) => {
  const { data_dir, call } = await serveLocally(t)
  const made = await call('POST', '/v1/cloud/tenants', { name: 'one' }, OPERATOR_KEY)
  const review = { invoice_ref: 'one', reviewer_handle: 'r', rating: 0.5 }
  await call('POST', '/v1/governed/reviews', review, made.api_key)
  const path = `/v1/admin/tenants/${made.tenant_id}`
  const confirm = `destroy ${made.tenant_id}`
  await call('POST', `${path}/destroy-key`, { confirm }, OPERATOR_KEY)
  const removed = async () =>
    (await call('GET', `${path}/destruction`, undefined, OPERATOR_KEY)).removal.state === 'removed'
  while (!(await removed())) await new Promise((done) => setTimeout(done, 20))
  const ran = await runCustos(['cgr', 'recompute', '--data-dir', data_dir])
  assert.deepEqual([ran.status, ran.stderr], [0, ''], ran.stdout)
  assert.match(ran.stdout, /^[0-9a-f]{32} +\d+ +0 +0 +0 +1 +[0-9a-f]{64} +0$/m)
})

test('wrong usage and missing data are one-line errors', async () => {
  for (const args of [['cgr'], ['cgr', 'forget'], ['cgr', 'recompute', 'more']])
    assert.equal((await runCustos(args)).status, 2)
  const empty = await runCustos(['cgr', 'recompute', '--data-dir', tempDirectory()])
  assert.equal(empty.status, 1)
  assert.match(empty.stderr, /^custos cgr: .* holds no data/)
})
