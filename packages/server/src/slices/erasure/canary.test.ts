// After an erasure the content is in no file of the data directory, nor what would open a copy.

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { openScene } from '../../testing/erasure-scene.ts'

function filesUnder(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path).isFile())
}

function hits(dirs: readonly string[], needles: readonly (string | Buffer)[]): string[] {
  return dirs.flatMap(filesUnder).flatMap((path) => {
    const bytes = readFileSync(path)
    return needles.filter((needle) => bytes.includes(needle)).map((needle) => `${path}: ${needle}`)
  })
}

test('neither the content nor its secret is in any file after it was erased', async () => {
  const copies = mkdtempSync(join(tmpdir(), 'custos-ledger-'))
  const scene = await openScene({ config: { ledger_copy: join(copies, 'ledger.ndjson') } })
  try {
    const canary = 'canary-3f81-Anneliese-Vogt'
    const content = `${canary} keeps bees in Freiburg`
    const ref = await scene.write(content, { metadata: { note: `${canary}-metadata` } })
    await scene.decide({
      query: `Who keeps bees? ${content}`,
      output: `${content} indeed`,
      retrieved_refs: [ref],
      retrieved_contents: [content],
      parameters: { hint: 'bees' },
    })
    const secrets = await scene.service.kernel.keyring.secrets(scene.tenant_id, 'fact', [ref])
    const secret = secrets.get(ref)
    assert.ok(secret)
    const needles = [canary, Buffer.from(canary).toString('base64').slice(0, 20), 'Freiburg']
    const issued = await scene.issue(ref)
    const salt: string = issued.body.content_salt
    assert.equal(salt.length, 64)
    needles.push(salt, Buffer.from(salt, 'hex').toString('base64'))
    const dirs = [scene.service.data_dir, copies]
    assert.deepEqual(hits(dirs, [...needles, secret, Buffer.from(salt, 'hex')]), [])
    await scene.stop({ keep: true })
    assert.deepEqual(hits(dirs, [...needles, secret, Buffer.from(salt, 'hex')]), [])
  } finally {
    rmSync(scene.service.data_dir, { recursive: true, force: true })
    rmSync(copies, { recursive: true, force: true })
  }
})
