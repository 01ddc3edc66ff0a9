// The consistency check finds manifests that nothing of ours could have written.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { parseConfig } from '../../config/config.ts'
import { SUBJECT, subjectScene } from '../../slices/subjects/testing/scene.ts'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { runFsck } from './fsck.ts'

let service: TestService
before(async () => {
  service = await startTestService()
})
after(() => service.stop())

async function scene() {
  const of = await subjectScene(service)
  await of.write('Jana Novak lives in Brno')
  const { request_id } = await of.erase({ text: 'Jana Novak' })
  await of.access({ text: 'Jana Novak' })
  const look = async () => {
    const config = parseConfig({ CUSTOS_DATA_DIR: service.data_dir })
    const reports = await runFsck(config, { tenant_id: of.tenant_id })
    return reports.flatMap(({ findings }) => findings.map(({ kind, id, what }) => [kind, id, what]))
  }
  const change = (sql: string, ...values: string[]) =>
    rawSql(service, `${sql} where request_id = ?`, [...values, Buffer.from(request_id, 'hex')])
  return { of, request_id, look, change }
}

test('manifests pass, and requests without one that need none', async () => {
  const { of, look } = await scene()
  const { text } = await of.ask('GET', SUBJECT)
  assert.equal(JSON.parse(text).count, 2)
  assert.deepEqual(await look(), [])
})

test('a manifest that was altered does not verify', async () => {
  const { request_id, look, change } = await scene()
  const altered = ['"searched_again":true', '"searched_again":false'] as const
  await change('update subject_requests set manifest = replace(manifest, ?, ?)', ...altered)
  const what = 'does not verify: signature'
  const [[kind, id, found] = []] = await look()
  assert.deepEqual([kind, id, found?.slice(0, what.length)], ['manifest', request_id, what])
})

test('a manifest of another request is found, genuine as it is', async () => {
  const { of, request_id, look, change } = await scene()
  const other = await of.erase({ text: 'Nobody Here' })
  const manifest = JSON.stringify(await of.manifestOf(other.request_id))
  await change('update subject_requests set manifest = ?', manifest)
  assert.deepEqual(await look(), [
    ['manifest', request_id, 'the row differs from the manifest in it'],
    ['manifest', request_id, 'the log recorded another manifest'],
  ])
})

test('a manifest that is gone, a request set back and one that is gone are found', async () => {
  const { request_id, look, change } = await scene()
  await change('update subject_requests set manifest = null')
  assert.deepEqual(await look(), [['manifest', request_id, 'the manifest does not read']])
  await change('update subject_requests set completed_us = null')
  assert.deepEqual(await look(), [['manifest', request_id, 'ended by the log, and not here']])
  await change('delete from subject_requests')
  assert.deepEqual(await look(), [['manifest', request_id, 'logged, its request is not here']])
})
