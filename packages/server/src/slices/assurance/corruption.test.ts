// Rows altered behind the service's back: the check that is about them fails, and says where.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, beforeEach, describe, test } from 'node:test'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { AssuredTenant } from './testing/assured.ts'

let service: TestService
let tenant: AssuredTenant
let made: Awaited<ReturnType<AssuredTenant['fill']>>

before(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  tenant = await AssuredTenant.create(service)
  made = await tenant.fill()
  assert.deepEqual(await tenant.failing(), [])
})
after(() => service.stop())

const alter = (sql: string, values: (string | number | Uint8Array)[] = []) =>
  rawSql(service, sql, [...values, tenant.tenant_id])

async function flipped(table: string): Promise<Uint8Array> {
  const [row] = await alter(`select sealed from ${table} where tenant_id = ?`)
  const bytes = Uint8Array.from(Object(row)['sealed'])
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
  return bytes
}

const SEALED = ['facts', 'stores', 'decisions'] as const

describe('seals', () => {
  for (const table of SEALED)
    test(`one bit of a sealed row of ${table} is noticed`, async () => {
      await alter(`update ${table} set sealed = ? where tenant_id = ?`, [await flipped(table)])
      const { checks_results } = await tenant.run()
      assert.equal(checks_results.seals.status, 'fail')
      const { kind, what } = checks_results.seals.findings[0]
      assert.equal(`${kind}s`, table)
      assert.match(what, /seal does not open/)
      assert.equal(checks_results.chain.status, 'pass')
    })

  test('a read of what is damaged is 503 and names custos fsck', async () => {
    await alter('update facts set sealed = ? where tenant_id = ?', [await flipped('facts')])
    const path = `/v1/stores/${made.store_id}/memories`
    const { status, body } = await service.request('GET', path, { key: tenant.key })
    assert.deepEqual([status, body.error], [503, 'unavailable'])
    assert.match(body.detail, /damaged.*custos fsck/)
  })

  test('a memory that is gone without an erasure is missed', async () => {
    await alter('delete from facts where tenant_id = ?')
    assert.ok((await tenant.failing()).includes('seals'))
  })
})

describe('chain', () => {
  test('another word in an entry is noticed, and where it is', async () => {
    const changed = `update breadcrumbs
      set record = replace(record, 'memory.written', 'memory.writteN')
      where seq = (select min(seq) from breadcrumbs b where b.tenant_id = breadcrumbs.tenant_id
        and b.record like '%memory.written%') and tenant_id = ?`
    await alter(changed)
    const { status, checks_results } = await tenant.run()
    assert.equal(status, 'fail')
    assert.equal(checks_results.chain.status, 'fail')
    assert.match(checks_results.chain.findings[0].id, /^entry \d+$/)
  })

  test('an entry taken out, and a checkpoint altered, are noticed', async () => {
    await alter('update epochs set root_hash = ? where tenant_id = ?', [new Uint8Array(32)])
    assert.deepEqual(await tenant.failing(), ['chain'])
    await alter('delete from breadcrumbs where seq = 2 and tenant_id = ?')
    assert.ok((await tenant.failing()).includes('chain'))
  })

  test('a run over a log without its head is kept, off the log', async () => {
    await alter('update chain_heads set frontier = ? where tenant_id = ?', [new Uint8Array(3)])
    const run = await tenant.run({ checks: ['chain'] })
    const { status, checks_results, log_seq } = run
    assert.deepEqual([status, checks_results.chain.status, log_seq], ['fail', 'fail', null])
  })
})

for (const name of ['policies', 'clock'])
  test(`a run of ${name} alone over a log without its head is kept too, as failed`, async () => {
    await alter('update chain_heads set frontier = ? where tenant_id = ?', [new Uint8Array(3)])
    const run = await tenant.run({ checks: [name] })
    assert.deepEqual(
      [run.status, run.log_seq, run.checks_results[name].status],
      ['fail', null, 'pass'],
    )
    assert.match(run.error, /^\w+$/)
    assert.equal((await tenant.ok('GET', '/assurance/stats')).running, 0)
  })

describe('ledger', () => {
  test('a tombstone that is gone is missed', async () => {
    await alter('delete from tombstones where tenant_id = ?')
    const { checks_results } = await tenant.run()
    assert.equal(checks_results.ledger.status, 'fail')
    const tombstones = checks_results.ledger.findings.filter(
      ({ kind }: { kind: string }) => kind === 'tombstone',
    )
    assert.equal(tombstones[0].id, String(made.erased))
  })

  test('a certificate that is gone, and one that says something else, are noticed', async () => {
    await alter(
      `update certificates set record = replace(record, '"outcome":"', '"outcome":"un')
        where tenant_id = ?`,
    )
    assert.deepEqual(await tenant.failing(), ['ledger'])
    await alter('delete from certificates where tenant_id = ?')
    assert.deepEqual(await tenant.failing(), ['ledger'])
  })
})

describe('policies', () => {
  test('a policy that does not open, and one switched off unseen, are noticed', async () => {
    await alter('update policies set enabled = 0 where tenant_id = ?')
    assert.deepEqual(await tenant.failing(), ['policies'])
    await alter('update policies set enabled = 1, sealed = ? where tenant_id = ?', [
      await flipped('policies'),
    ])
    assert.deepEqual(await tenant.failing(), ['policies'])
  })

  test('a configuration put under a type that cannot take it does not compile', async () => {
    await alter(`update policies set policy_type = 'content_filter' where tenant_id = ?`)
    const { checks_results } = await tenant.run()
    const { id, what } = checks_results.policies.findings[0]
    assert.deepEqual([id, what], [made.policy_id, 'it does not compile'])
  })
})

describe('clock', () => {
  test('a log that is an hour ahead of the machine is noticed', async () => {
    await alter('update chain_heads set last_us = last_us + 3600000000 where tenant_id = ?')
    const { checks_results } = await tenant.run({ checks: ['clock'] })
    assert.equal(checks_results.clock.status, 'fail')
    assert.match(checks_results.clock.findings[0].what, /^is 3\d{3} s behind/)
  })

  test('two entries of one time are noticed', async () => {
    const [row] = await alter('select record from breadcrumbs where seq = 1 and tenant_id = ?')
    const at = JSON.parse(Object(row)['record']).created_at
    const [next] = await alter('select record from breadcrumbs where seq = 2 and tenant_id = ?')
    const record = String(Object(next)['record'])
    const same = record.replace(JSON.parse(record).created_at, at)
    await alter('update breadcrumbs set record = ? where seq = 2 and tenant_id = ?', [same])
    const { checks_results } = await tenant.run({ checks: ['clock'] })
    assert.equal(checks_results.clock.findings[0].id, 'entry 2')
  })
})

test('a flipped bit of a wrapped key is 503 for its tenant, and custos fsck is named', async () => {
  const first = await startTestService()
  const { data_dir, kernel } = first
  const damaged = await AssuredTenant.create(first)
  const other = await AssuredTenant.create(first)
  const { store_id } = await damaged.fill()
  await first.stop({ keep: true })
  if (!kernel.db.shared) {
    const keys = new DatabaseSync(join(data_dir, 'keyring', 'keyring.db'))
    const where = keys.prepare('select tenant_key from tenants where tenant_id = ?')
    const bytes = Uint8Array.from(Object(where.get(damaged.tenant_id))['tenant_key'])
    bytes[20] = (bytes[20] ?? 0) ^ 1
    const update = 'update tenants set tenant_key = ? where tenant_id = ?'
    keys.prepare(update).run(bytes, damaged.tenant_id)
    keys.close()
  }
  const second = await startTestService({ data_dir })
  const read = (key: string, path: string) => second.request('GET', `/v1${path}`, { key })
  try {
    assert.equal((await read(other.key, '/stores')).status, 200)
    const { status, body } = await read(damaged.key, `/stores/${store_id}/memories`)
    if (kernel.db.shared) return
    assert.deepEqual([status, body.error], [503, 'unavailable'])
    assert.match(body.detail, /damaged.*custos fsck/)
  } finally {
    await second.stop()
  }
})
