// Idempotency-Key on every operation that honours it: one effect, one answer, whatever happens.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Answer, TestService } from '../../../packages/server/src/testing/harness.ts'
import { roundsOf } from '../../../packages/server/src/testing/sweep.ts'
import { exampleOf, needsOf } from './examples.ts'
import { otherJobsEnded } from './testing/open-job.ts'
import { startContractService } from './testing/payments.ts'
import { difference, rowCounts } from './testing/rows.ts'
import { operationOf, operations, type Sent } from './testing/table.ts'
import { assertRefusal, send } from './testing/tenant.ts'
import { buildWorld, type Ids, type World } from './testing/world.ts'

/** Short and long form. */
const TWINS = roundsOf(12, 50)
const STORE: ReadonlySet<keyof Ids> = new Set(['store_id'])
const idempotent = operations.filter((operation) => operation.idempotent)

let service: TestService

before(async () => {
  service = await startContractService()
})

after(() => service.stop())

const keyed = (sent: Sent, key: string): Sent => ({
  ...sent,
  headers: { ...sent.headers, 'idempotency-key': key },
})

const SHOWN_ONCE = new Set(['content_salt', 'api_key', 'new_api_key', 'token', 'secret'])
/** Where a webhook has come to is another matter. */
const MOVING = new Set(['cursor_seq', 'lag', 'failing_since', 'state', 'last_success_at'])

/** An answer without what is shown in the first one only, and without what moves. */
function comparable({ status, body }: Answer): unknown {
  const kept = Object.entries(body).filter(([name]) => !SHOWN_ONCE.has(name) && !MOVING.has(name))
  return { status, body: Object.fromEntries(kept) }
}

/** Asks as an operator where one may: a tenant that rotates its key has none to ask again with. */
function ask(of: TestService, { tenant }: World, id: string, sent: Sent): Promise<Answer> {
  const key = operationOf(id).access.startsWith('operator') ? of.operator_key : tenant.api_key
  return send(of, id, sent, { key })
}

/** A valid body with other bytes: a key stands for the bytes that came with it. */
function withOtherBody({ raw, body = {}, ...sent }: Sent): Sent {
  if (raw !== undefined) return { ...sent, raw: `${raw}{"content":"unrelated"}\n` }
  const headers = { ...sent.headers, 'content-type': 'application/json' }
  return { ...sent, headers, raw: `${JSON.stringify(body)} ` }
}

/** What the requests did, as rows by table, and their answers. */
async function effectOf(world: World, id: string, count: number) {
  const sent = keyed(exampleOf(id, world.ids), `key-for-${count}`)
  // What building the world and the test before left to do does not.
  await otherJobsEnded(service)
  const youngest = world.tenant.tenant_id
  const before = await rowCounts(service, youngest)
  const one = () => ask(service, world, id, sent)
  const answers = await Promise.all(Array.from({ length: count }, one))
  // What a job does for a request belongs to it.
  await otherJobsEnded(service)
  return { answers, rows: difference(before, await rowCounts(service, youngest)) }
}

describe('many requests with one key', () => {
  for (const { id, status } of idempotent)
    test(`${id} has the effect of one request and answers all ${TWINS} alike`, async () => {
      const once = await effectOf(await buildWorld(service, needsOf(id)), id, 1)
      const many = await effectOf(await buildWorld(service, needsOf(id)), id, TWINS)
      const [first] = many.answers
      assert.ok(first)
      for (const answer of many.answers) {
        assert.equal(answer.status, status, answer.text)
        assert.deepEqual(comparable(answer), comparable(first))
      }
      const fresh = many.answers.filter(({ headers }) => !headers.has('idempotency-replayed'))
      assert.equal(fresh.length, 1, 'one answer is not a replay')
      assert.deepEqual(many.rows, once.rows)
      assert.equal(once.rows['idempotency'], 1)
    })
})

describe('a key that was used', () => {
  for (const { id, access, status } of idempotent)
    test(`${id} refuses it for another body and for another operation`, async () => {
      const world = await buildWorld(service, needsOf(id).add('store_id'))
      const sent = exampleOf(id, world.ids)
      // Kept before the request: one that rotates the tenant's key leaves this one valid.
      const { api_key } = await world.tenant.withKey({ class: 'tenant', scopes: ['*'] })
      const first = await ask(service, world, id, keyed(sent, 'used'))
      assert.equal(first.status, status, first.text)
      await otherJobsEnded(service)
      const before = await rowCounts(service)
      if (operationOf(id).body || sent.raw !== undefined) {
        const changed = await ask(service, world, id, keyed(withOtherBody(sent), 'used'))
        assertRefusal(changed, 'idempotency_key_reused', id)
      }
      // An operator's requests and a tenant's have nothing to do with each other.
      if (access.startsWith('operator')) return
      const otherId = id === 'memory.write' ? 'memory.create_store' : 'memory.write'
      const elsewhere = keyed(exampleOf(otherId, world.ids), 'used')
      const other = await send(service, otherId, elsewhere, { key: api_key })
      assertRefusal(other, 'idempotency_key_reused', `${id}, then ${otherId}`)
      assert.deepEqual(difference(before, await rowCounts(service)), {})
    })
})

test('the same key, content and operation for another store is another request', async () => {
  const { tenant, ids } = await buildWorld(service, STORE)
  const { store_id } = await tenant.ok('memory.create_store', { body: {} })
  const body = { content: 'same' }
  await tenant.ok('memory.write', keyed({ params: { store_id: ids.store_id }, body }, 'k'))
  const other = await tenant.ask('memory.write', keyed({ params: { store_id }, body }, 'k'))
  assertRefusal(other, 'idempotency_key_reused', 'memory.write')
})

test('a refused request does not use up its key', async () => {
  const { tenant, ids } = await buildWorld(service, STORE)
  const params = { store_id: ids.store_id }
  const bad = { params, body: { content: 'x', options: { valid_from: 'never' } } }
  assertRefusal(await tenant.ask('memory.write', keyed(bad, 'k')), 'validation', 'memory.write')
  const closed = { params, body: { old_ref: ids.old_ref, content: 'x' } }
  const refused = await tenant.ask('memory.supersede', keyed(closed, 'k'))
  assertRefusal(refused, 'superseded', 'memory.supersede')
  await tenant.ok('memory.write', keyed({ params, body: { content: 'x' } }, 'k'))
})

test('every operation replays its answer after a restart, with no further effect', async () => {
  const first = await startContractService()
  const done = new Map<string, { world: World; sent: Sent; answer: Answer }>()
  try {
    for (const { id } of idempotent) {
      const world = await buildWorld(first, needsOf(id))
      const sent = keyed(exampleOf(id, world.ids), 'kept')
      done.set(id, { world, sent, answer: await ask(first, world, id, sent) })
    }
  } finally {
    await first.stop({ keep: true })
  }
  const again = await startContractService({ data_dir: first.data_dir })
  try {
    const before = await rowCounts(again)
    for (const [id, { world, sent, answer }] of done) {
      const replayed = await ask(again, world, id, sent)
      assert.deepEqual(comparable(replayed), comparable(answer), id)
      assert.equal(replayed.headers.get('idempotency-replayed'), 'true', id)
    }
    assert.deepEqual(difference(before, await rowCounts(again)), {})
  } finally {
    await again.stop()
  }
})

test('a replayed write of a memory erased since says so and brings nothing back', async () => {
  const { tenant, ids } = await buildWorld(service, STORE)
  const params = { store_id: ids.store_id }
  const sent = keyed({ params, body: { content: 'a telling phrase' } }, 'gone')
  const { ref } = await tenant.ok('memory.write', sent)
  await tenant.ok('memory.delete', { params, body: { ref } })
  const replayed = await tenant.ok('memory.write', sent)
  assert.deepEqual([replayed.ref, replayed.status, replayed.content_hash], [ref, 'erased', null])
  assert.ok(!JSON.stringify(replayed).includes('telling'))
})
