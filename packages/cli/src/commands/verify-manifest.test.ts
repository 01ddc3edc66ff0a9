// custos verify on the manifest of a data subject's erasure with its certificates.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { runCustos, type TestCleanup, tempDirectory } from '../testing/run.ts'
import { type LocalService, serveLocally } from '../testing/serve-locally.ts'

const SUBJECT = '/v1/erasure/subject'
let dir = ''
let bundle: string[] = []

const fileOf = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text)
  return join(dir, name)
}
const linesOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')
const verify = (name: string, lines: readonly string[]) =>
  runCustos(['verify', fileOf(name, linesOf(lines)), '--keys', join(dir, 'keys.json')])

async function eraseSomebody({ call, text }: LocalService): Promise<string> {
  for (const n of [1, 2, 3])
    await call('POST', '/v1/stores/default/write', { content: `Jana Novak, note ${n}` })
  const query = 'Who is Jana Novak?'
  const decision = { store_id: 'default', model_id: 'm', query, output: 'A customer' }
  await call('POST', '/v1/decisions/log', decision)
  const find = { text: 'Jana Novak' }
  const { digest } = await call('POST', SUBJECT, { find, preview: true })
  await call('POST', SUBJECT, { find, expect_digest: digest })
  for (let waits = 0; waits < 500; waits += 1) {
    const [request] = JSON.parse(await text(SUBJECT)).requests
    if (request.completed_at !== null) return request.request_id
    await delay(20)
  }
  return assert.fail('the erasure did not end')
}

before(async () => {
  const ends: (() => void | Promise<void>)[] = []
  const t: TestCleanup = { after: (end) => void ends.push(end) }
  dir = tempDirectory()
  const local = await serveLocally(t)
  const id = await eraseSomebody(local)
  const text = await local.text(`${SUBJECT}/${id}/manifest?format=bundle`)
  bundle = text.trim().split('\n')
  fileOf('keys.json', JSON.stringify(await local.call('GET', '/v1/gcrumbs/public_key')))
  for (const end of ends.reverse()) await end()
})

test('a bundle verifies as one document, offline', async () => {
  assert.equal(bundle.length, 5)
  const { status, stdout } = await verify('bundle.ndjson', bundle)
  assert.equal(status, 0, stdout)
  assert.match(stdout, /bundle\.ndjson: erasure_manifest/)
  for (const check of ['signature', 'all_given', 'none_extra', 'certificates', 'certificates_root'])
    assert.match(stdout, new RegExp(`ok +${check}\\n`))
})

test('a manifest alone is valid, and the missing certificates are reported', async () => {
  const { status, stdout } = await verify('manifest.json', bundle.slice(0, 1))
  assert.equal(status, 0, stdout)
  assert.match(stdout, /not checked: the certificates that the manifest lists/)
})

test('a missing, repeated or truncated certificate is detected', async () => {
  const cut = bundle.with(2, (bundle[2] ?? '').slice(0, -20))
  for (const lines of [bundle.slice(0, -1), [...bundle, bundle[1] ?? ''], cut]) {
    const { status, stdout } = await verify('damaged.ndjson', lines)
    assert.equal(status, 1, stdout)
    assert.match(stdout, /INVALID/)
  }
})
