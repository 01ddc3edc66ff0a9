// An operator who holds every key rewrites or cuts the log: monitor, witness and client notice.

import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { ProofError } from '@custos/client/verify'
import { runCustos } from '../../packages/cli/src/testing/run.ts'
import { rawSql } from '../../packages/server/src/testing/raw-sql.ts'
import { embeddedTest } from '../../packages/server/src/testing/test-data.ts'
import { openWitnessScene, WITNESS_VKEY, type WitnessScene } from './testing/scene.ts'

function memoryStorage() {
  const kept = new Map<string, string>()
  return {
    get: (name: string) => kept.get(name),
    set: (n: string, v: string) => void kept.set(n, v),
  }
}

// The address of the service changes when it is started again; that of the log does not.
async function watch(scene: WitnessScene, storage: ReturnType<typeof memoryStorage>) {
  const { get, set } = storage
  const plain = (name: string) => name.split(' ')[0] ?? ''
  return scene.client().witness({
    get: (name) => get(plain(name)),
    set: (name, value) => set(plain(name), value),
  })
}

function verifier({ dir }: WitnessScene, keys: unknown) {
  const file = (name: string, content: unknown) => {
    const path = join(dir, name)
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
    return path
  }
  const trusted = ['--keys', file('keys.json', keys), '--witness-key', WITNESS_VKEY]
  const verify = (...args: string[]) => runCustos(['verify', ...args, ...trusted])
  return { file, verify }
}

test('an honest log is witnessed, followed and verified with the key of the witness', async (t) => {
  const scene = await openWitnessScene(t)
  const none = await scene.monitor()
  assert.deepEqual([none.status, none.stdout], [0, 'no checkpoint yet\n'])
  await scene.write('one', 'two', 'three')
  const { witnessed, cosignatures } = await scene.roll()
  assert.deepEqual([witnessed, cosignatures], [false, []])
  const epoch = await scene.witnessed()
  assert.equal(epoch.cosignatures[0].witness, WITNESS_VKEY)

  // The same shows everywhere an epoch is shown, and on the checkpoint of the tiles.
  const listed = (await scene.ok('GET', '/v1/gcrumbs/epochs')).epochs.at(-1)
  assert.deepEqual(listed, epoch)
  const { text, headers } = await scene.service.request('GET', '/v1/log/checkpoint')
  assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8')
  assert.equal(text, `${epoch.checkpoint}${epoch.cosignatures[0].line}\n`)

  const { file, verify } = verifier(scene, await scene.ok('GET', '/v1/gcrumbs/public_key'))
  const good = await verify(file('epoch.json', epoch), file('checkpoint.txt', text))
  assert.equal(good.status, 0, good.stdout)
  assert.match(good.stdout, /ok {4}cosignature witness\.example\/w1\n {2}ok {4}witnessed/)
  const bare = file('bare.txt', epoch.checkpoint)
  const without = await verify(bare)
  assert.equal(without.status, 1)
  assert.match(without.stdout, /FAIL {2}witnessed: 0 of the 1 required witnesses cosigned it/)
  const line = epoch.cosignatures[0].line.replace(/.(?=.{10}$)/, (c: string) =>
    c === 'A' ? 'B' : 'A',
  )
  const forged = { ...epoch, cosignatures: [{ ...epoch.cosignatures[0], line }] }
  const altered = await verify(file('forged.json', forged))
  assert.match(altered.stdout, /FAIL {2}cosignature witness\.example\/w1: cosignature_invalid/)
  assert.equal((await verify(bare, '--witness-key', 'x+y')).status, 2)
  assert.equal((await verify(bare, '--witnesses', '2')).status, 2)

  const first = await scene.monitor()
  assert.equal(first.status, 0, first.stdout)
  assert.match(first.stdout, /entries, \d+ new\n$/)
  const again = await scene.monitor()
  assert.match(again.stdout, /entries, 0 new\n$/)
})

test('proofs show who cosigned their checkpoint, and are verified with that key', async (t) => {
  const scene = await openWitnessScene(t)
  const { file, verify } = verifier(scene, await scene.ok('GET', '/v1/gcrumbs/public_key'))
  await scene.write('one', 'two', 'three')
  await scene.roll()
  const first = await scene.witnessed()
  const proof = await scene.ok('GET', `/v1/gcrumbs/epochs/${first.epoch_number}/proof?seq=1`)
  assert.deepEqual([proof.witnessed, proof.cosignatures], [true, first.cosignatures])
  const cosigned = `${first.checkpoint}${first.cosignatures[0].line}\n`
  assert.ok(proof.tlog_proof.endsWith(`\n\n${cosigned}`), proof.tlog_proof)
  const entry = file('entry.json', proof.breadcrumb)
  for (const path of [file('proof.json', proof), file('tlog-proof', proof.tlog_proof)]) {
    const { status, stdout } = await verify(path, '--entry', entry)
    assert.equal(status, 0, stdout)
    assert.match(stdout, /ok {4}inclusion\n[\s\S]*ok {4}witnessed\n/)
  }

  // Of two checkpoints the later has to be cosigned: the proof leads from it to the earlier.
  await scene.write('four')
  await scene.roll()
  const { epoch_number: to } = await scene.witnessed()
  const path = `/v1/gcrumbs/epochs/${to}/consistency?from=${first.epoch_number}`
  const both = await scene.ok('GET', path)
  assert.deepEqual([both.from_witnessed, both.to_witnessed], [true, true])
  assert.deepEqual(both.from_cosignatures, first.cosignatures)
  const good = await verify(file('consistency.json', both))
  assert.equal(good.status, 0, good.stdout)
  assert.match(good.stdout, /ok {4}consistency\n[\s\S]*ok {4}witnessed\n/)
  const swapped = { ...both, to_cosignatures: both.from_cosignatures }
  const refused = await verify(file('swapped.json', swapped))
  assert.match(refused.stdout, /FAIL {2}cosignature witness\.example\/w1: cosignature_invalid/)
})

/** Everybody has seen a log of more entries than the copy of the data has. */
async function openSwapped(scene: WitnessScene, swap: 'put_back' | 'restore' = 'put_back') {
  const storage = memoryStorage()
  await scene.write('one', 'two')
  await scene.roll()
  await scene.restart('copy')
  await scene.write('three', 'four')
  await scene.roll()
  await scene.witnessed()
  assert.equal((await scene.monitor()).status, 0)
  await watch(scene, storage)
  // Where keys, checkpoints and ledger go back with the data, the service itself cannot know.
  await scene.restart(swap)
  return storage
}

const evidenceOf = ({ dir }: WitnessScene) =>
  JSON.parse(readFileSync(join(dir, 'monitor-state.evidence'), 'utf8'))

embeddedTest('a log that was cut and signed again is noticed by all', async (t) => {
  const scene = await openWitnessScene(t)
  const storage = await openSwapped(scene)
  const truncated = await scene.monitor()
  assert.equal(truncated.status, 1, truncated.stdout)
  assert.match(truncated.stdout, /^truncated: the log had \d+ entries, now \d+\n$/)
  // The two checkpoints, both signed by the operator, are the proof.
  const { kept, shown } = evidenceOf(scene)
  assert.notEqual(kept, shown)
  await assert.rejects(watch(scene, storage), ProofError)
})

embeddedTest('a log that was forked is noticed by all, and is never witnessed', async (t) => {
  const scene = await openWitnessScene(t)
  const storage = await openSwapped(scene)
  await scene.write('another three', 'another four', 'another five')
  const { tree_size } = await scene.roll()
  const forked = await scene.monitor()
  assert.equal(forked.status, 1, forked.stdout)
  assert.match(forked.stdout, /^fork: entry \d+ does not follow the entry before it\n$/)
  assert.equal(evidenceOf(scene).kind, 'fork')
  await assert.rejects(watch(scene, storage), ProofError)
  for (let waits = 0; waits < 100 && scene.contradictions.length === 0; waits += 1) await delay(50)
  // The witness has what it was sent and what it cosigned before: both signed by the operator.
  assert.ok(scene.contradictions[0]?.includes(`\n${tree_size}\n`), scene.contradictions[0])
  assert.equal((await scene.ok('GET', '/v1/gcrumbs/stats')).last_epoch.witnessed, false)
  // The state of the monitor was not moved: the same is found again.
  assert.equal((await scene.monitor()).status, 1)
})

embeddedTest('a restored backup is a log of another name, which is witnessed too', async (t) => {
  const scene = await openWitnessScene(t)
  await openSwapped(scene, 'restore')
  const { origin, generation } = await scene.witnessed()
  assert.equal(generation, 1)
  const restored = await scene.monitor()
  assert.equal(restored.status, 1)
  assert.match(restored.stdout, /^restored: the log was custos\.example\/local and is now /)
  assert.ok(restored.stdout.includes(`${origin}: it was restored from a backup`))
  rmSync(join(scene.dir, 'monitor-state'))
  const followed = await scene.monitor()
  assert.equal(followed.status, 0, followed.stdout)
  assert.equal(scene.contradictions.length, 0)
})

embeddedTest(
  'fsck counts witnessed epochs, and finds a cosignature that does not hold',
  async (t) => {
    const scene = await openWitnessScene(t)
    for (const content of ['one', 'two']) {
      await scene.write(content)
      await scene.roll()
      await scene.witnessed()
    }
    const good = await scene.fsck()
    assert.equal(good.status, 0, good.stdout + good.stderr)
    assert.match(good.stdout, /epochs {2}witnessed[\s\S]*local +\d+ +2 +2 /)
    const sql = 'update cosignatures set signed_s = signed_s + 1 where epoch_number = ?'
    await rawSql(scene.service, `${sql} returning epoch_number`, [1])
    const bad = await scene.fsck()
    assert.equal(bad.status, 1)
    assert.match(
      bad.stdout,
      /local +\d+ +2 +1 [\s\S]*local: log epoch 1: has an invalid cosignature\n/,
    )
  },
)

test('a log whose key is not the known one is not followed', async (t) => {
  const scene = await openWitnessScene(t)
  await scene.write('one')
  await scene.roll()
  const state = join(scene.dir, 'other-state')
  const args = ['monitor', '--url', scene.url, '--state', state, '--once']
  const other = await runCustos([...args, '--key', '11'.repeat(32)])
  assert.match(other.stdout, /^not_signed: /)
  assert.equal(other.status, 1)
  // Where the evidence cannot be kept, it is printed, and the finding is one all the same.
  const full = join(scene.dir, 'full-state')
  mkdirSync(join(`${full}.evidence`, 'taken'), { recursive: true })
  const at = args.map((word) => (word === state ? full : word))
  const kept = await runCustos([...at, '--key', '11'.repeat(32)])
  assert.deepEqual([kept.status, kept.stdout], [1, other.stdout])
  assert.match(
    kept.stderr,
    /the evidence could not be kept: [^\n]+\n\{"evidence":\{"kind":"not_signed"/,
  )
  const { public_key } = await scene.ok('GET', '/v1/gcrumbs/public_key')
  writeFileSync(state, '{"custos_monitor": 1}')
  const damaged = await runCustos([...args, '--key', public_key])
  assert.match(damaged.stderr, /is not the state of a monitor, or damaged\n$/)
  const wrong = await runCustos([...args, '--key', 'zz'])
  // 1 would be a finding.
  assert.deepEqual([damaged.status, wrong.status], [2, 2])
  const away = ['monitor', '--url', 'http://127.0.0.1:9', '--key', public_key, '--once']
  const unread = await runCustos([...away, '--state', join(scene.dir, 'away')])
  assert.equal(unread.status, 2)
  assert.match(unread.stderr, /the log cannot be read/)
  for (const seconds of ['0', '86401', 'x']) {
    const pause = await runCustos([...args, '--key', public_key, '--interval', seconds])
    assert.equal(pause.status, 2)
    assert.match(pause.stderr, /--interval takes a whole number from 1 to 86400\n/)
  }
})
