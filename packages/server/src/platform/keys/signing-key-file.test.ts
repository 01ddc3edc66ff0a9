// A signing key of one's own: made once, private, and nothing else taken for one.

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import fs, { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { verifyEd25519 } from '@custos/proof'
import { openOwnSigner } from './signer.ts'

const dir = mkdtempSync(join(tmpdir(), 'custos-own-key-'))
after(() => rmSync(dir, { recursive: true, force: true }))
const message = Buffer.from('what is signed')

test('a key that is not there is made for its owner only, and is the same later', async () => {
  const path = join(dir, 'own.pem')
  const made = openOwnSigner(path)
  assert.equal(made.created, true)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const again = openOwnSigner(path)
  assert.equal(again.created, false)
  assert.deepEqual(again.public_key, made.public_key)
  assert.equal(again.key_id, made.key_id)
  assert.deepEqual(again.sign(message), made.sign(message))
  assert.equal(await verifyEd25519(made.public_key, message, made.sign(message)), true)
})

test('a key whose writing is cut off leaves no file that a later start refuses', (t) => {
  const place = mkdtempSync(join(dir, 'cut-off-'))
  const path = join(place, 'own.pem')
  const { writeSync } = fs
  const replaceWith = (write: typeof writeSync) => {
    fs.writeSync = write
    syncBuiltinESMExports()
  }
  t.after(() => replaceWith(writeSync))
  replaceWith(() => {
    throw new Error('cut off')
  })
  assert.throws(() => openOwnSigner(path), /cut off/)
  replaceWith(writeSync)
  assert.deepEqual(readdirSync(place), [])
  assert.equal(openOwnSigner(path).created, true)
  assert.deepEqual(readdirSync(place), ['own.pem'])
})

test('a key without a file is another each time', () => {
  assert.notDeepEqual(openOwnSigner().public_key, openOwnSigner().public_key)
})

const { privateKey } = generateKeyPairSync('x25519')

for (const [what, pem] of [
  ['a key that signs nothing', String(privateKey.export({ type: 'pkcs8', format: 'pem' }))],
  ['an empty file', ''],
  ['a text', 'not a key\n'],
  ['half a key', '-----BEGIN PRIVATE KEY-----\nMC4CAQ\n-----END PRIVATE KEY-----\n'],
] as const) {
  test(`${what} is refused as a key and stays as it is`, () => {
    const path = join(dir, 'bad.pem')
    writeFileSync(path, pem)
    assert.throws(() => openOwnSigner(path), {
      code: 'bad_signing_key',
      message: /is not an Ed25519/,
    })
  })
}

test('a key is not made where its directory is not there', () => {
  assert.throws(() => openOwnSigner(join(dir, 'none', 'own.pem')), { code: 'ENOENT' })
})
