// Memory provenance, as a GMP client would check it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { factId } from '../core/digest.ts'
import { toBase64, toHex } from '../core/encoding.ts'
import { publish, seededKey } from '../testing/fixtures.ts'
import { verifyMemory } from './provenance.ts'

const key = seededKey(0x55)
const keys = [publish(key, 'provenance')]
const content = 'Aria lives in Rome'
const source = {
  write_id: 'w-1',
  written_at: '2026-01-02T03:04:05.000006+00:00',
  written_by: toHex(key.publicKey),
  signature: toBase64(key.sign(factId(content, 'A'))),
  public_key: toBase64(key.publicKey),
}
const memory = { ref: 1, content, tenant_id: 'A', source }
const isValid = async (value: unknown) => (await verifyMemory(value, keys)).valid

test('a memory verifies with content and tenant exactly as shown, and no others', async () => {
  assert.equal(await isValid(memory), true)
  assert.equal(await isValid({ ...memory, content: `${content} ` }), false)
  assert.equal(await isValid({ ...memory, tenant_id: 'A/b' }), false)
  assert.equal(await isValid({ ...memory, tenant_id: null }), false)
})

test('what the signature of a memory does not cover is named', async () => {
  const { not_checked } = await verifyMemory({ ...memory, metadata: { from: 'me' } }, keys)
  assert.deepEqual(not_checked, ['only content and tenant_id are signed'])
})

test('a tenant of null and a missing one are the empty one', async () => {
  const signature = toBase64(key.sign(factId(content, null)))
  const untenanted = { ref: 1, content, source: { ...source, signature } }
  assert.equal(await isValid(untenanted), true)
  assert.equal(await isValid({ ...untenanted, tenant_id: null }), true)
})

test('a source that names another writer than its key is not valid', async () => {
  const other = { ...source, written_by: '00'.repeat(32) }
  assert.equal(await isValid({ ...memory, source: other }), false)
})

test('unsigned and unreadable memories are not valid, with a reason', async () => {
  const unsigned = { ...memory, source: { ...source, signature: null } }
  assert.equal((await verifyMemory(unsigned, keys)).reason, 'signature: unsigned')
  for (const odd of [
    null,
    {},
    { content },
    { ...memory, tenant_id: 7 },
    { ...memory, source: null },
  ]) {
    const verdict = await verifyMemory(odd, keys)
    assert.equal(verdict.valid, false)
    assert.ok(verdict.reason?.startsWith('malformed'))
  }
})
