// The consistency check reports faults of many memories in the order of their numbers.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { parseConfig } from '../../config/config.ts'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { runFsck } from './fsck.ts'

let service: TestService

before(async () => {
  service = await startTestService()
})
after(() => service.stop())

test('faults found at once are reported memory by memory, each with all it has', async () => {
  const { tenant_id, api_key: key } = await service.createTenant('checked')
  const items = Array.from({ length: 150 }, (_, i) => ({ content: `note number ${i}` }))
  const path = '/v1/stores/default/write_batch'
  const { body } = await service.request('POST', path, { key, body: { items } })
  const refs: number[] = body.refs
  assert.equal(refs.length, items.length)
  await rawSql(service, 'update facts set token_count = token_count + 1 where ref % 3 = 0')
  await rawSql(service, 'update facts set written_us = 1 where ref % 5 = 0')
  const config = parseConfig({ CUSTOS_DATA_DIR: service.data_dir })
  const [report] = await runFsck(config, { tenant_id })
  const found = report?.findings.filter(({ kind }) => kind === 'fact')
  assert.deepEqual(
    found?.map(({ id, what }) => `${id} ${what}`),
    refs.flatMap((ref) => [
      ...(ref % 3 === 0 ? [`${ref} its tokens are miscounted`] : []),
      ...(ref % 5 === 0 ? [`${ref} its key was not valid when it was written`] : []),
    ]),
  )
})
