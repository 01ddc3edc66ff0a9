// custos key: after a change of keys, signatures stay verifiable and sealed data readable.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SIGNING_PURPOSES } from '@custos/server'
import { runCustos, spawnCustos, tempDirectory } from '../testing/run.ts'
import { serveLocally, writeSampleData } from '../testing/serve-locally.ts'

const runKey = (data_dir: string, ...args: readonly string[]) =>
  runCustos(['key', ...args, '--data-dir', data_dir])

const save = (name: string, value: unknown): string => {
  const path = join(tempDirectory(), name)
  writeFileSync(path, JSON.stringify(value))
  return path
}

test('a rotation of the master key beside another one leaves its next key alone', async (t) => {
  const service = await serveLocally(t)
  // As of a rotation that is under way: it holds the directory too.
  const next = join(service.data_dir, 'master.key.rotation-next')
  writeFileSync(next, `${'ab'.repeat(32)}\n`)
  const second = await spawnCustos(['key', 'rotate-master', '--data-dir', service.data_dir])
  assert.equal(second.status, 1)
  assert.match(second.stderr, /^custos key: [^\n]* in use by another process\n$/)
  assert.equal(readFileSync(next, 'utf8').trim(), 'ab'.repeat(32))
})

test('after a rotation old and new signatures verify, and every log records it', async (t) => {
  const first = await serveLocally(t)
  const { decision_id, certificate, refs } = await writeSampleData(first)
  const busy = await spawnCustos(['key', 'rotate', 'all', '--data-dir', first.data_dir])
  assert.equal(busy.status, 1)
  assert.match(busy.stderr, /^custos key: [^\n]* in use by another process\n$/)
  await first.stop()
  const rotated = await runKey(first.data_dir, 'rotate', 'all')
  assert.equal(rotated.status, 0, rotated.stderr)
  assert.equal(rotated.stdout.match(/ signs from now on; /g)?.length, SIGNING_PURPOSES.length)

  const second = await serveLocally(t, { data_dir: first.data_dir })
  const keys = await second.call('GET', '/v1/gcrumbs/public_key')
  assert.equal(keys.keys.filter((key) => key.retired_at === null).length, SIGNING_PURPOSES.length)
  assert.equal(keys.keys.length, 2 * SIGNING_PURPOSES.length)
  const [ref = 0] = refs
  const newer = await second.call('POST', '/v1/erasure/issue', { fact_ref: ref })
  assert.notEqual(newer.key_id, certificate.key_id)
  await second.call('POST', '/v1/gcrumbs/roll', {})
  const documents = [
    certificate,
    newer,
    await second.call('GET', `/v1/decisions/${decision_id}`),
    await second.call('GET', '/v1/gcrumbs/epochs/1'),
    await second.call('GET', '/v1/gcrumbs/epochs/3'),
    await second.call('GET', '/v1/gcrumbs/epochs/3/consistency?from=1'),
  ].map((document, i) => save(`${i}.json`, document))
  const ran = await runCustos(['verify', ...documents, '--keys', save('keys.json', keys)])
  assert.equal(ran.status, 0, ran.stdout)

  const { breadcrumbs } = await second.call('GET', '/v1/gcrumbs/breadcrumbs?limit=1000')
  const events = breadcrumbs.filter(({ event_type }) => event_type === 'signing_key.rotated')
  const current = keys.keys.filter((key) => key.retired_at === null)
  assert.deepEqual(
    events.map(({ subject }) => subject).sort(),
    current.map(({ key_id }) => key_id).sort(),
  )
  const checked = await runCustos(['fsck', '--data-dir', first.data_dir])
  assert.equal(checked.status, 0, checked.stdout)
})

test('without an erasure key nothing is deleted until a rotation', async (t) => {
  const first = await serveLocally(t)
  const { refs } = await writeSampleData(first)
  const [ref = 0] = refs
  await first.stop()
  const retired = await runKey(first.data_dir, 'retire', 'erasure')
  assert.equal(retired.status, 0, retired.stderr)
  const second = await serveLocally(t, { data_dir: first.data_dir })
  await assert.rejects(second.call('POST', '/v1/erasure/issue', { fact_ref: ref }), /503/)
  assert.ok(await second.call('GET', `/v1/stores/default/memories/${ref}`))
  await second.stop()
  assert.equal((await runKey(first.data_dir, 'rotate', 'erasure')).status, 0)
  const third = await serveLocally(t, { data_dir: first.data_dir })
  const { outcome } = await third.call('POST', '/v1/erasure/issue', { fact_ref: ref })
  assert.equal(outcome, 'erased')
  const { breadcrumbs } = await third.call('GET', '/v1/gcrumbs/breadcrumbs?limit=1000')
  const types = breadcrumbs.map(({ event_type }) => event_type)
  assert.equal(types.filter((type) => type === 'signing_key.retired').length, 1)
  assert.equal(types.filter((type) => type === 'signing_key.rotated').length, 1)
})

test('list shows every key, also while the service runs', async (t) => {
  const { data_dir } = await serveLocally(t)
  const ran = await spawnCustos(['key', 'list', '--data-dir', data_dir])
  assert.equal(ran.status, 0, ran.stderr)
  assert.match(ran.stdout, /^purpose +key id +valid from +retired +public key\n/)
  assert.equal(ran.stdout.match(/ current /g)?.length, SIGNING_PURPOSES.length)
})

test('a new master key replaces the old one, and everything is still readable', async (t) => {
  const first = await serveLocally(t)
  const { refs } = await writeSampleData(first)
  await first.stop()
  const file = join(first.data_dir, 'master.key')
  const old = readFileSync(file, 'utf8').trim()
  const ran = await runKey(first.data_dir, 'rotate-master')
  assert.equal(ran.status, 0, ran.stderr)
  assert.match(ran.stdout, /new master key: the key is now [^\n]*master\.key/)
  assert.notEqual(readFileSync(file, 'utf8').trim(), old)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  for (const left of ['master.key.rotation-next', 'master.key.old'])
    assert.ok(!existsSync(join(first.data_dir, left)), left)
  const args = ['fsck', '--data-dir', first.data_dir]
  assert.equal((await runCustos(args)).status, 0)
  const withOld = await runCustos(args, { env: { CUSTOS_MASTER_KEY: old } })
  assert.match(withOld.stderr, /^custos fsck: the master key is not the one of this keyring\n$/)
  const second = await serveLocally(t, { data_dir: first.data_dir })
  const { content } = await second.call('GET', `/v1/stores/default/memories/${refs[0]}`)
  assert.equal(content, 'The harbour opens at six')
})

test('a master key from the environment is replaced by the one in a file', async (t) => {
  const [old, next] = ['0a'.repeat(32), '0b'.repeat(32)]
  const first = await serveLocally(t, { env: { CUSTOS_MASTER_KEY: old } })
  await writeSampleData(first)
  await first.stop()
  const args = ['key', 'rotate-master', '--data-dir', first.data_dir]
  const env = { CUSTOS_MASTER_KEY: old }
  const without = await runCustos(args, { env })
  assert.match(without.stderr, /^custos key: [^\n]*--new-key-file\n$/)
  const file = join(tempDirectory(), 'next')
  writeFileSync(file, 'too short')
  const bad = await runCustos([...args, '--new-key-file', file], { env })
  assert.match(bad.stderr, /^custos key: [^\n]* does not hold 64 hex digits\n$/)
  writeFileSync(file, `${next}\n`)
  const ran = await runCustos([...args, '--new-key-file', file], { env })
  assert.equal(ran.status, 0, ran.stderr)
  const fsck = ['fsck', '--data-dir', first.data_dir]
  assert.equal((await runCustos(fsck, { env: { CUSTOS_MASTER_KEY: next } })).status, 0)
  assert.equal((await runCustos(fsck, { env })).status, 1)
})

test('a rotation interrupted between keyring and key file is completed by the next', async (t) => {
  const first = await serveLocally(t)
  await writeSampleData(first)
  await first.stop()
  const file = join(first.data_dir, 'master.key')
  const old = readFileSync(file)
  assert.equal((await runKey(first.data_dir, 'rotate-master')).status, 0)
  // The files of a process that ended right after it wrapped the keyring.
  writeFileSync(join(first.data_dir, 'master.key.rotation-next'), readFileSync(file))
  writeFileSync(file, old)
  const fsck = () => runCustos(['fsck', '--data-dir', first.data_dir])
  assert.equal((await fsck()).status, 0, 'what only reads opens it with either key')
  assert.equal((await runKey(first.data_dir, 'rotate-master')).status, 0)
  assert.equal((await fsck()).status, 0)
})

test('an unknown purpose or subcommand is a one-line usage error', async () => {
  for (const args of [['rotate', 'everything'], ['retire', 'all'], ['turn'], ['rotate'], []]) {
    const ran = await runKey(tempDirectory(), ...args)
    assert.equal(ran.status, 2, args.join(' '))
    assert.match(ran.stderr, /^custos key: [^\n]+\n$/)
  }
})
