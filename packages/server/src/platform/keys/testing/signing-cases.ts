// Cases on signing keys.

import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { SIGNING_PURPOSES } from '../keyring.ts'
import type { KeyringCase } from './keyring-suite.ts'

const LATER = '2027-01-01T00:00:00.000000Z'
const LATEST = '2027-01-01T00:00:00.000001Z'

function verifies(public_key: string, message: Buffer, signature: Buffer): boolean {
  const x = Buffer.from(public_key, 'hex').toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return verify(null, message, key, signature)
}

export const signingCases: readonly KeyringCase[] = [
  {
    title: 'each purpose has its own key from the first open on, and it signs',
    run: async (location) => {
      const keyring = await location.open()
      const published = keyring.publishedKeys()
      assert.deepEqual(published.map((key) => key.purpose).sort(), [...SIGNING_PURPOSES].sort())
      assert.equal(new Set(published.map((key) => key.public_key)).size, SIGNING_PURPOSES.length)
      const message = Buffer.from('message')
      for (const purpose of SIGNING_PURPOSES) {
        const key = published.find((one) => one.purpose === purpose)
        assert.ok(key)
        const signer = keyring.signer(purpose)
        assert.equal(signer.key_id, key.key_id)
        assert.equal(signer.public_key.toString('hex'), key.public_key)
        const signature = signer.sign(message)
        assert.ok(verifies(key.public_key, message, signature))
        const [same, other] = await signer.signAll([message, Buffer.from('other')])
        assert.deepEqual(same, signature)
        assert.ok(other && verifies(key.public_key, Buffer.from('other'), other))
        assert.match(key.valid_from, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
        assert.equal(key.retired_at, null)
      }
      await location.close(keyring)
      assert.deepEqual((await location.open()).publishedKeys(), published)
    },
  },
  {
    title: 'after a rotation the new key signs, the old one is listed and signs no more',
    run: async (location) => {
      const keyring = await location.open()
      const old = keyring.signer('checkpoint')
      const other = keyring.signer('erasure')
      const fresh = await keyring.rotateSigningKey('checkpoint', LATER)
      assert.equal(keyring.signer('checkpoint').key_id, fresh.key_id)
      assert.notEqual(fresh.key_id, old.key_id)
      assert.throws(() => old.sign(Buffer.from('m')), { code: 'signing_key_retired' })
      await assert.rejects(old.signAll([Buffer.from('m')]), { code: 'signing_key_retired' })
      assert.ok(other.sign(Buffer.from('m')))
      const listed = keyring.publishedKeys().filter((key) => key.purpose === 'checkpoint')
      const [first, second] = listed
      assert.ok(first && second && listed.length === 2)
      assert.deepEqual([first.key_id, second.key_id], [old.key_id, fresh.key_id])
      // Both are valid at the time of the change: other processes have not seen it yet.
      assert.ok((first.retired_at ?? '') >= LATER)
      assert.ok(second.valid_from <= LATER)
      assert.equal(second.retired_at, null)
      await location.close(keyring)
      assert.equal((await location.open()).signer('checkpoint').key_id, fresh.key_id)
    },
  },
  {
    title: 'a purpose retired without successor stays without a key until it is rotated',
    run: async (location) => {
      const keyring = await location.open()
      await keyring.retireSigningKey('erasure', LATER)
      await keyring.retireSigningKey('erasure', LATER)
      assert.throws(() => keyring.signer('erasure'), { code: 'no_signing_key' })
      await location.close(keyring)
      const again = await location.open()
      assert.throws(() => again.signer('erasure'), { code: 'no_signing_key' })
      const fresh = await again.rotateSigningKey('erasure', LATEST)
      assert.equal(again.signer('erasure').key_id, fresh.key_id)
    },
  },
  {
    title: 'a change of keys is dated in full and never before the last one',
    run: async (location) => {
      const keyring = await location.open()
      await keyring.rotateSigningKey('decision', LATEST)
      for (const at of [LATER, '2028-01-01', '2028-01-01T00:00:00Z'])
        await assert.rejects(keyring.rotateSigningKey('decision', at), { code: 'bad_argument' })
    },
  },
]
