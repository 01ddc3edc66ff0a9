// Signatures and bodies of deliveries, byte for byte.

import assert from 'node:assert/strict'
import { createHash, sign } from 'node:crypto'
import { test } from 'node:test'
import {
  buildPayload,
  compatibilityHeaders,
  findUnknownEvents,
  formatSecret,
  matchEvent,
  signPayload,
} from './payload.ts'

// The published examples of Standard Webhooks.
const MESSAGE = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}' }
const TIMESTAMP_S = 1_614_265_330

const unused = () => assert.fail('asked for the key of the service')

test('v1 is the signature of the published example, one for each secret', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const signed = (secrets: readonly string[]) =>
    signPayload(MESSAGE, { kind: 'v1', secrets, signer: unused, timestamp_s: TIMESTAMP_S })
  assert.deepEqual(signed([secret]), {
    'webhook-id': MESSAGE.id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
  const both = signed([formatSecret(Buffer.alloc(32, 7)), secret])['webhook-signature'] ?? ''
  assert.equal(both.split(' ').length, 2)
  assert.ok(both.endsWith(' v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='))
})

test('v1a is the signature of the published example', () => {
  const seed = Buffer.from('VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk=', 'base64')
  const head = Buffer.from('302e020100300506032b657004220420', 'hex')
  const key = { key: Buffer.concat([head, seed]), format: 'der', type: 'pkcs8' } as const
  const signer = () => ({ sign: (message: Uint8Array) => sign(null, message, key) })
  const headers = signPayload(MESSAGE, {
    kind: 'v1a',
    secrets: [],
    signer,
    timestamp_s: TIMESTAMP_S,
  })
  assert.equal(
    headers['webhook-signature'],
    'v1a,tQ9V2XOqn7jL/DQenEFpqIugdBVtiMmER5mhSkXBNwM0mkATuDe6KYYUuxqtaiHeYGb7KaaBRdM5WqyeFiL8Ag==',
  )
})

test('the compatibility headers sign time and body under the text of the secret', () => {
  const headers = compatibilityHeaders(
    { event_type: 'memory.erased', delivery_id: 'd1' },
    { secret: 'whsec_0123', timestamp_s: 1_700_000_000, body: '{"a":1}' },
  )
  // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac whsec_0123
  const mac = '1a9d885d49d9ffca0910d910564325c28eb50173b0557e8f884bcfca744322c4'
  assert.deepEqual(headers, {
    'x-grafomem-event': 'memory.erased',
    'x-grafomem-delivery': 'd1',
    'x-grafomem-signature': `t=1700000000,v1=${mac}`,
  })
})

const entryOf = (payload: unknown) =>
  JSON.stringify({
    created_at: '2026-01-31T09:30:00.000000Z',
    event_type: 'evaluation.denied',
    payload,
    prev_id: '0'.repeat(64),
    seq: 7,
    subject: 'a1',
    tenant_id: 't1',
  })

function bodyOf(payload: unknown) {
  const record = entryOf(payload)
  const breadcrumb_id = createHash('sha256').update(`\0${record}`).digest('hex')
  const { id, body } = buildPayload({
    event_type: 'governance.denied',
    generation: 2,
    previous_seq: 3,
    breadcrumb_id,
    record,
  })
  return { record, breadcrumb_id, id, body, members: JSON.parse(body) }
}

test('a body holds the entry as it is on the log, and nothing else', () => {
  const { record, breadcrumb_id, id, members } = bodyOf({ policy_set: 4 })
  assert.deepEqual(members, {
    type: 'governance.denied',
    event: 'governance.denied',
    timestamp: '2026-01-31T09:30:00.000000Z',
    id,
    tenant_id: 't1',
    generation: 2,
    seq: 7,
    previous_seq: 3,
    breadcrumb_id,
    data: { policy_set: 4 },
    entry: record,
  })
  assert.equal(id, `evt_${breadcrumb_id.slice(0, 32)}`)
})

test('a body never exceeds 20,000 bytes: first the data go, then the entry', () => {
  const policies = (count: number) => ({
    policies: Array(count).fill({ policy_id: 'a'.repeat(50) }),
  })
  const whole = bodyOf(policies(100))
  assert.deepEqual([whole.members.data, whole.members.entry], [policies(100), whole.record])
  const large = bodyOf(policies(200))
  assert.deepEqual([large.members.data, large.members.entry], [null, large.record])
  const huge = bodyOf(policies(400))
  assert.deepEqual([huge.members.data, huge.members.entry], [null, null])
  assert.equal(huge.members.breadcrumb_id, huge.breadcrumb_id)
  for (const { body } of [whole, large, huge]) assert.ok(Buffer.byteLength(body) <= 20_000)
})

test('an entry is sent under its own name where that is subscribed to, otherwise its alias', () => {
  const denied = { event_type: 'evaluation.denied', payload: {} }
  assert.equal(matchEvent(['*'], denied), 'evaluation.denied')
  assert.equal(matchEvent(['governance.denied'], denied), 'governance.denied')
  assert.equal(matchEvent(['governance.denied', 'evaluation.denied'], denied), 'evaluation.denied')
  assert.equal(matchEvent(['governance.escalated'], denied), null)
  const run = (status: string) => ({ event_type: 'assurance.completed', payload: { status } })
  assert.equal(matchEvent(['assurance.drift', 'assurance.fail'], run('fail')), 'assurance.fail')
  assert.equal(matchEvent(['assurance.drift'], run('drift')), 'assurance.drift')
  assert.equal(matchEvent(['assurance.drift', 'assurance.fail'], run('pass')), null)
})

test('a name that is no event is answered with the nearest that is one', () => {
  assert.deepEqual(findUnknownEvents(['*', 'memory.erased', 'erasure.issued']), [])
  assert.deepEqual(findUnknownEvents(['memory.erased', 'memory.erase', 'workflow.completed']), [
    { position: 1, nearest: 'memory.erased' },
    { position: 2, nearest: 'tool.completed' },
  ])
})
