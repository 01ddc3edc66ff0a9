// What a report says of the log: the same whenever it is asked, and never that a forged one holds.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { canonicalize } from '@custos/proof'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { findHead, rollEpoch, storePendingEpochs } from '../gcrumbs/index.ts'

let service: TestService
before(async () => {
  service = await startTestService()
})
after(() => service.stop())

async function newTenant() {
  const { tenant_id, api_key: key } = await service.createTenant()
  const ok = async (method: string, path: string, body?: unknown) => {
    const answer = await service.request(method, path, body === undefined ? { key } : { key, body })
    assert.ok(answer.status < 300, `${path}: ${answer.text}`)
    return answer.body
  }
  const write = (content: string, more: object = {}) =>
    ok('POST', '/v1/stores/default/write', { content, ...more })
  const roll = () => ok('POST', '/v1/gcrumbs/roll', {})
  const generate = (body: object = {}) => ok('POST', '/v1/reports/generate', body)
  return { tenant_id, ok, write, roll, generate }
}

/** As a cut connection or a killed process leaves it: only the keyring knows. */
const forgetEpochs = (tenant_id: string) =>
  rawSql(service, 'delete from epochs where tenant_id = ? returning epoch_number', [tenant_id])

describe('the content of a report', () => {
  test('is the same before and after a roll that finishes one cut short', async () => {
    for (const background of [false, true]) {
      const tenant = await newTenant()
      await tenant.write('one')
      await tenant.roll()
      assert.equal((await forgetEpochs(tenant.tenant_id)).length, 1)
      await tenant.write('two')
      const made = await tenant.generate({ background })
      await service.kernel.jobs.idle()
      const first = await tenant.ok('GET', `/v1/reports/${made.report_id}`)
      await tenant.write('three')
      await tenant.roll()
      const { period_start: from, period_end: to, log_seq } = first
      const again = await tenant.generate({ from, to, log_seq })
      assert.equal(canonicalize(again.content), canonicalize(first.content))
      assert.equal(first.content.log.epochs_verified, 1)
    }
  })

  test('waits for a roll under way, whose checkpoint is over fewer entries', async () => {
    const tenant = await newTenant()
    await tenant.write('one')
    const { kernel } = service
    const { checkpoints } = kernel.keyring
    const save = checkpoints.save.bind(checkpoints)
    const signing = Promise.withResolvers<void>()
    const open = Promise.withResolvers<void>()
    checkpoints.save = async (...args) => {
      signing.resolve()
      await open.promise
      return save(...args)
    }
    try {
      const rolling = rollEpoch(kernel, tenant.tenant_id)
      await signing.promise
      const settled = storePendingEpochs(kernel, tenant.tenant_id)
      const known = settled.then(() =>
        rawSql(service, 'select * from epochs where tenant_id = ?', [tenant.tenant_id]),
      )
      // Those who do not wait have read by then.
      for (let i = 0; i < 5; i += 1) await service.request('GET', '/health')
      open.resolve()
      assert.equal((await known).length, 1)
      await rolling
    } finally {
      checkpoints.save = save
    }
  })
})

describe('a report calls a log tampered', () => {
  test('that has a checkpoint nobody signed, as verifying it in full does', async () => {
    const tenant = await newTenant()
    await tenant.write('one')
    await tenant.roll()
    await tenant.write('two')
    await rawSql(
      service,
      `insert into epochs
         (tenant_id, epoch_number, generation, tree_size, root_hash, checkpoint, created_us)
       select tenant_id, -5, generation, tree_size, root_hash, 'forged, by nobody', created_us
       from epochs where tenant_id = ? returning epoch_number`,
      [tenant.tenant_id],
    )
    const { content } = await tenant.generate({ framework: 'gdpr' })
    const { status, reason, checkpoint } = content.log
    assert.deepEqual([status, reason, checkpoint], ['tampered', 'checkpoint_invalid', 'invalid'])
    assert.equal((await tenant.ok('GET', '/v1/gcrumbs/verify?full=true')).status, 'tampered')
  })

  test('that ends before what was signed of it, wherever the report ends', async () => {
    const tenant = await newTenant()
    const { tenant_id } = tenant
    await tenant.write('one')
    const head = await service.kernel.db.read(tenant_id, findHead)
    assert.ok(head)
    await tenant.write('two')
    await tenant.roll()
    await rawSql(
      service,
      `update chain_heads set size = ?, frontier = ?, last_id = ?, last_us = ?
       where tenant_id = ? returning size`,
      [head.size, head.frontier, head.last_id, head.last_us, tenant_id],
    )
    const cut = 'delete from breadcrumbs where tenant_id = ? and seq >= ? returning seq'
    await rawSql(service, cut, [tenant_id, head.size])
    await forgetEpochs(tenant_id)
    const period = { period_days: 1, framework: 'hipaa' }
    const { content } = await tenant.generate({ ...period, log_seq: 0 })
    assert.deepEqual(
      [content.log.status, content.log.reason, content.log.at_seq],
      ['tampered', 'log_shorter_than_signed', head.size],
    )
  })
})

test('an export for a data subject is evidence of the right of access', async () => {
  const tenant = await newTenant()
  await tenant.write('Ada lives in Kiel', { metadata: { subject_id: 'ada' } })
  const access = async () => {
    const { content } = await tenant.generate({ framework: 'gdpr' })
    const { finding, evidence } = content.sections.article_15_access
    return [finding, evidence[0].query, evidence[0].count]
  }
  assert.deepEqual(await access(), ['INSUFFICIENT_DATA', 'subject_accesses', 0])
  const find = { metadata: { key: 'subject_id', value: 'ada' } }
  await tenant.ok('POST', '/v1/erasure/subject/access', { find })
  assert.deepEqual(await access(), ['EVIDENCE_FOUND', 'subject_accesses', 1])
})
