// The chain's operations over HTTP.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { parseTlogProof, verifyEnvelope } from '@custos/proof'
import { SIGNING_PURPOSES } from '../../platform/keys/keyring.ts'
import { startTestService, type TestService } from '../../testing/harness.ts'

let service: TestService
let key: string
let tenant_id: string

before(async () => {
  service = await startTestService()
  const tenant = await service.createTenant('chain')
  key = tenant.api_key
  tenant_id = tenant.tenant_id
})

after(() => service.stop())

const get = (path: string) => service.request('GET', `/v1/gcrumbs/${path}`, { key })
const roll = () => service.request('POST', '/v1/gcrumbs/roll', { key })

async function write(count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const body = { content: `fact ${i}` }
    const { status } = await service.request('POST', '/v1/stores/default/write', { body, key })
    assert.equal(status, 200)
  }
}

const keys = async () => (await service.request('GET', '/v1/gcrumbs/public_key')).body.keys

test('gcrumbs.public_key and gcrumbs.verify_key publish keys to anybody', async () => {
  const list = await service.request('GET', '/v1/gcrumbs/public_key')
  assert.equal(list.status, 200)
  const purposes = list.body.keys.map((k: { purpose: string }) => k.purpose).sort()
  assert.deepEqual(purposes, SIGNING_PURPOSES.toSorted())
  const one = await service.request('GET', '/v1/gcrumbs/verify/key')
  const current = (purpose: string) =>
    list.body.keys.find((key: { purpose: string }) => key.purpose === purpose).public_key
  assert.equal(list.body.public_key, current('checkpoint'))
  assert.equal(one.body.public_key_hex, current('receipt'))
  assert.equal(Buffer.from(one.body.public_key_b64, 'base64').toString('hex'), current('receipt'))
})

test('gcrumbs.roll signs once for one tree and gcrumbs.epochs lists what was signed', async () => {
  await write(3)
  const first = await roll()
  assert.equal(first.status, 200, first.text)
  assert.equal(first.body.rolled, true)
  const again = await roll()
  assert.deepEqual([again.body.epoch_number, again.body.rolled], [first.body.epoch_number, false])
  const list = await get('epochs')
  assert.equal(Object.keys(list.body)[0], 'epochs')
  assert.equal(list.body.epochs.at(-1).checkpoint, first.body.checkpoint)
  const verdict = await verifyEnvelope({ type: 'epoch', epoch: first.body }, { keys: await keys() })
  assert.equal(verdict.valid, true, JSON.stringify(verdict))
})

test('gcrumbs.breadcrumbs pages through the log and the list verifies offline', async () => {
  await write(5)
  const seen: unknown[] = []
  let path: string | null = 'breadcrumbs?limit=4'
  while (path !== null) {
    const { body } = await get(path)
    seen.push(...body.breadcrumbs)
    path = body.next_cursor === null ? null : `breadcrumbs?limit=4&cursor=${body.next_cursor}`
  }
  const total = (await get('stats')).body.total_breadcrumbs
  assert.equal(seen.length, total)
  const verdict = await verifyEnvelope({ type: 'breadcrumbs', breadcrumbs: seen }, { keys: [] })
  assert.equal(
    verdict.checks.every((check) => check.ok),
    true,
    JSON.stringify(verdict),
  )
  assert.equal((await get('breadcrumbs?cursor=nonsense')).status, 422)
})

test('gcrumbs.proof proves each entry, and says when the epoch ends before it', async () => {
  const { body: epoch } = await roll()
  for (const seq of [0, 1, epoch.tree_size - 1]) {
    const { body } = await get(`epochs/${epoch.epoch_number}/proof?seq=${seq}`)
    assert.equal(body.included, true)
    const { index, checkpoint } = parseTlogProof(body.tlog_proof)
    assert.deepEqual(
      [index, checkpoint, body.checkpoint],
      [seq, epoch.checkpoint, epoch.checkpoint],
    )
    const { breadcrumbs } = (await get(`breadcrumbs?limit=1&offset=${seq}`)).body
    assert.deepEqual([body.breadcrumb], breadcrumbs)
    const verdict = await verifyEnvelope({ type: 'proof', proof: body }, { keys: await keys() })
    assert.equal(verdict.valid, true, JSON.stringify(verdict))
    const forged = { ...body, breadcrumb: { ...body.breadcrumb, subject: 'other' } }
    const refused = await verifyEnvelope({ type: 'proof', proof: forged }, { keys: await keys() })
    assert.equal(refused.valid, false)
  }
  const beyond = await get(`epochs/${epoch.epoch_number}/proof?seq=${epoch.tree_size}`)
  assert.deepEqual([beyond.status, beyond.body.included], [200, false])
  assert.equal((await get(`epochs/${epoch.epoch_number}/proof`)).status, 422)
  assert.equal((await get(`epochs/${epoch.epoch_number}/proof?seq=-1`)).status, 422)
})

test('the only entry of a log is proven by an empty path', async () => {
  const { api_key } = await service.createTenant('single')
  const ask = (method: string, path: string) =>
    service.request(method, `/v1/gcrumbs/${path}`, { key: api_key })
  const { body: epoch } = await ask('POST', 'roll')
  const { body: proof } = await ask('GET', `epochs/${epoch.epoch_number}/proof?seq=0`)
  assert.deepEqual([proof.tree_size, proof.audit_path, proof.proof], [1, [], []])
  const verdict = await verifyEnvelope({ type: 'proof', proof }, { keys: await keys() })
  assert.equal(verdict.valid, true, JSON.stringify(verdict))
})

test('the entry of a decision has the same proof once the decision is redacted', async () => {
  const post = (path: string, body: object) => service.request('POST', path, { body, key })
  const content = 'the patient is allergic to penicillin'
  const { ref } = (await post('/v1/stores/default/write', { content })).body
  const logged = await post('/v1/decisions/log', {
    store_id: 'default',
    model_id: 'm',
    query: 'q',
    output: 'refuse',
    retrieved_refs: [ref],
    retrieved_contents: [content],
  })
  const { body: epoch } = await roll()
  const seq = epoch.tree_size - 1
  const earlier = await get(`epochs/${epoch.epoch_number}/proof?seq=${seq}`)
  assert.equal(earlier.body.breadcrumb.subject, logged.body.decision_id)
  assert.equal((await post('/v1/stores/default/delete', { ref })).body.deleted, true)
  const path = `/v1/decisions/${logged.body.decision_id}`
  const shown = await service.request('GET', path, { key })
  assert.ok(shown.body.redacted && !shown.text.includes('penicillin'), shown.text)
  const again = await get(`epochs/${epoch.epoch_number}/proof?seq=${seq}`)
  assert.deepEqual(again.body, earlier.body)
  const { body: later } = await roll()
  const { body: proof } = await get(`epochs/${later.epoch_number}/proof?seq=${seq}`)
  assert.deepEqual(proof.breadcrumb, earlier.body.breadcrumb)
  const verdict = await verifyEnvelope({ type: 'proof', proof }, { keys: await keys() })
  assert.equal(verdict.valid, true, JSON.stringify(verdict))
})

test("'gcrumbs.epoch' and gcrumbs.consistency prove that an epoch extends another", async () => {
  await roll()
  await write(2)
  const { body: to } = await roll()
  const from = to.epoch_number - 1
  const { body } = await get(`epochs/${to.epoch_number}/consistency?from=${from}`)
  const earlier = await get(`epochs/${from}`)
  const verdict = await verifyEnvelope(
    { type: 'consistency', from: earlier.body, to, path: body.path },
    { keys: await keys() },
  )
  assert.equal(verdict.valid, true, JSON.stringify(verdict))
  assert.deepEqual(to.consistency.path, body.path)
  assert.equal((await get('epochs/999')).body.error, 'epoch_not_found')
  assert.equal((await get(`epochs/${from}/consistency?from=${to.epoch_number}`)).status, 422)
})

test('gcrumbs.verify answers intact for the own log, also in full', async () => {
  const { body } = await get('verify?full=true')
  assert.equal(body.status, 'intact')
  assert.equal(body.from_seq, 0)
  const stats = (await get('stats')).body
  assert.equal(body.tree_size, stats.total_breadcrumbs)
  assert.equal(body.epochs_verified, stats.total_epochs)
})

test('gcrumbs.verify_envelope checks what anybody holds, and never fails on junk', async () => {
  const { body: epoch } = await roll()
  const verify = (body: unknown) => service.request('POST', '/v1/gcrumbs/verify', { body })
  const good = await verify({ type: 'epoch', epoch })
  assert.deepEqual([good.status, good.body.valid], [200, true])
  for (const junk of [{}, { type: 'epoch' }, { type: 'nothing' }, { receipts: [] }]) {
    const answer = await verify(junk)
    assert.deepEqual([answer.status, answer.body.valid], [200, false])
  }
  assert.equal((await verify([])).status, 422)
})

test('gcrumbs.stats counts entries and epochs of the own tenant only', async () => {
  const other = await service.createTenant('other')
  const { body } = await service.request('GET', '/v1/gcrumbs/stats', { key: other.api_key })
  assert.deepEqual([body.total_breadcrumbs, body.total_epochs, body.last_epoch], [1, 0, null])
  const own = await get('breadcrumbs')
  assert(own.body.breadcrumbs.every((c: { tenant_id: string }) => c.tenant_id === tenant_id))
})
