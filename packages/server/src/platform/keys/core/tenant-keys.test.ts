// Derived keys: exactly the formula, and different whenever any input differs.

import assert from 'node:assert/strict'
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { tenantKeys } from './tenant-keys.ts'

const TENANT_KEY = Buffer.alloc(32, 1)
const LABEL_SALT = Buffer.alloc(32, 2)
const ID = '00112233445566778899aabbccddeeff'

const keys = tenantKeys('acme', Buffer.from(TENANT_KEY), Buffer.from(LABEL_SALT))

function sha256(...parts: (string | Buffer)[]): Buffer {
  const digest = createHash('sha256')
  for (const part of parts) digest.update(part)
  return digest.digest()
}

test('a fact key is SHA-256 of domain, tenant key and secret', () => {
  const secret = randomBytes(32)
  const expected = sha256('custos/fact-key/v1\n', TENANT_KEY, secret)
  assert.deepEqual(keys.factKey(secret).export(), expected)
  const vector = '3a32757426e7fa48eda926a481f093636e59ffd168e2d06bc8ccf8fffb2644f6'
  assert.equal(keys.factKey(Buffer.alloc(32, 3)).export().toString('hex'), vector)
})

test('a decision key takes the id and the secrets in the order given', () => {
  const [a, b] = [randomBytes(32), randomBytes(32)]
  const head = ['custos/decision-key/v1\n', TENANT_KEY, Buffer.from(ID, 'hex')]
  const ofTwo = keys.decisionKey(ID, [a, b]).export()
  assert.deepEqual(ofTwo, sha256(...head, a, b))
  assert.notDeepEqual(keys.decisionKey(ID, [b, a]).export(), ofTwo)
  assert.notDeepEqual(keys.decisionKey(ID, [a]).export(), ofTwo)
  assert.deepEqual(keys.decisionKey(ID, []).export(), sha256(...head))
})

test('a destroyed secret, or half a one, never becomes a key', () => {
  for (const secret of [Buffer.alloc(32), Buffer.alloc(31, 1), Buffer.alloc(33, 1)]) {
    assert.throws(() => keys.factKey(secret), { code: 'bad_secret' })
    assert.throws(() => keys.decisionKey(ID, [secret]), { code: 'bad_secret' })
  }
})

test('a decision id that is not 32 lower hex digits is refused', () => {
  for (const id of ['', ID.slice(2), ID.toUpperCase(), `${ID}00`])
    assert.throws(() => keys.decisionKey(id, []), { code: 'bad_argument' })
})

test('a label is the HMAC of the text under the tenant salt', () => {
  const expected = createHmac('sha256', LABEL_SALT).update('Zoë').digest('hex')
  assert.equal(keys.label('Zoë'), expected)
  const other = tenantKeys('other', Buffer.from(TENANT_KEY), Buffer.alloc(32, 9))
  assert.notEqual(other.label('Zoë'), expected)
})
