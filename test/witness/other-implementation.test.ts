// The packages aics-tlog and aics-witness of PyPI, which others wrote: their verifier reads tiles
// and cosignatures of a service, their witness cosigns for it, and our witness cosigns their log.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { checkWitnesses, verifierKey } from '@custos/proof'
import { seededKey } from '../../packages/proof/src/testing/fixtures.ts'
import { makeEnvironment } from '../python/testing/environment.ts'
import { openWitnessScene, WITNESS_VKEY, type WitnessScene } from './testing/scene.ts'

const PACKAGES = ['aics-tlog==0.2.1', 'aics-witness==0.1.0']
const FEED = join(import.meta.dirname, 'testing/feed.py')
const ORIGIN = 'log.example/custos'
const OTHER_ORIGIN = 'other.example/log'
const SEED_BYTE = 0x62
const execute = promisify(execFile)

/** Programs that may be Python 3.12 or later, which the packages need. */
async function pythonCandidates(): Promise<string[]> {
  const plain = ['python3', 'python3.14', 'python3.13', 'python3.12']
  try {
    const { stdout } = await execute('pyenv', ['versions', '--bare'])
    const versions = stdout.split('\n').filter((version) => /^3\.1[2-9]\./.test(version))
    const found = await Promise.all(
      versions.map((version) => execute('pyenv', ['prefix', version])),
    )
    return [...plain, ...found.map(({ stdout: prefix }) => join(prefix.trim(), 'bin/python'))]
  } catch {
    return plain
  }
}

/** An environment of its own with the packages, or null with the reason shown. */
async function installPackages(t: TestContext): Promise<string | null> {
  const dir = mkdtempSync(join(tmpdir(), 'custos-interop-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  const isRecent = 'import sys; sys.exit(sys.version_info < (3, 12))'
  let reason: unknown = 'there is no Python 3.12'
  for (const candidate of await pythonCandidates()) {
    try {
      await execute(candidate, ['-c', isRecent])
      const environment = await makeEnvironment(join(dir, 'venv'), candidate)
      await environment.install(...PACKAGES)
      return environment.python
    } catch (error) {
      reason = error
    }
  }
  t.diagnostic(`NOT TESTED: Python 3.12 with pip and an index is needed: ${reason}`)
  return null
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  assert.ok(typeof address === 'object' && address)
  return address.port
}

/** Their witness with a directory of its own; it serves once the log is added. */
async function prepareWitness(t: TestContext, python: string, dir: string) {
  const config = join(dir, 'witness.json')
  const url = `http://127.0.0.1:${await freePort()}`
  const run = (...args: string[]) =>
    execute(python, ['-m', 'aics_witness', ...args, '--config', config])
  const made = await run('init', '--name', 'witness.example/aics', '--listen', url.slice(7))
  const key = /witness\.example\/aics\+\S+/.exec(made.stdout)?.[0] ?? ''
  assert.notEqual(key, '', made.stdout)
  return {
    key,
    url,
    async serve(origin: string, vkey: string) {
      await run('add-log', '--origin', origin, '--vkey', vkey)
      const args = ['-m', 'aics_witness', 'serve', '--config', config]
      const serving = spawn(python, args, { stdio: 'ignore' })
      t.after(async () => {
        const ended = new Promise((resolve) => serving.once('close', resolve))
        serving.kill('SIGTERM')
        await ended
      })
      for (let waits = 0; waits < 100; waits += 1) {
        if ((await fetch(`${url}/healthz`).catch(() => null))?.ok) return
        await delay(100)
      }
      assert.fail('their witness did not start')
    },
  }
}

/** More than a tile of entries in two checkpoints; returns the first as it was served. */
async function fillLog(scene: WitnessScene): Promise<string> {
  const items = Array.from({ length: 40 }, (_, i) => ({ content: `note ${i}` }))
  for (let rounds = 0; rounds < 3; rounds += 1)
    await scene.ok('POST', '/v1/stores/default/write_batch', { items })
  await scene.roll()
  await scene.witnessed()
  const { text } = await scene.service.request('GET', '/v1/log/checkpoint')
  await Promise.all(Array.from({ length: 260 }, (_, i) => scene.write(`more ${i}`)))
  await scene.roll()
  return text
}

test('a verifier, a witness and a log that others wrote work with ours', async (t) => {
  const python = await installPackages(t)
  if (python === null) return
  const dir = mkdtempSync(join(tmpdir(), 'custos-interop-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  const theirs = await prepareWitness(t, python, dir)
  const scene = await openWitnessScene(t, {
    origin: ORIGIN,
    witnesses: [{ key: theirs.key, url: theirs.url }],
    followed: [{ origin: OTHER_ORIGIN, keys: [seededKey(SEED_BYTE).publicKey] }],
  })
  const origin = `${ORIGIN}/local`
  const log_vkey = verifierKey(origin, Buffer.from(scene.public_key, 'hex'))
  await theirs.serve(origin, log_vkey)

  // Their witness cosigns what a service sends, from nothing and with a consistency proof.
  const old = join(dir, 'old.txt')
  writeFileSync(old, await fillLog(scene))
  const epoch = await scene.witnessed()
  assert.equal(epoch.cosignatures.length, 2)
  assert.ok(epoch.tree_size > 256)

  // Their verifier reads the checkpoint, the tiles and the entries over HTTP.
  const verify = (command: string, ...args: string[]) =>
    execute(python, [
      ...['-m', 'aics_tlog', command, '--tiles', `${scene.url}/v1/log`, '--log-key', log_vkey],
      ...['--witness-key', theirs.key, '--witness-key', WITNESS_VKEY, '--quorum', '2'],
      ...['--origin', origin, ...args],
    ])
  await verify('verify-checkpoint')
  await verify('verify-consistency', '--old-checkpoint', old)
  const proof = `/v1/gcrumbs/epochs/${epoch.epoch_number}/proof?seq=200`
  const { breadcrumb_id, ...record } = (await scene.ok('GET', proof)).breadcrumb
  const entry = join(dir, 'entry.json')
  const inclusion = (index: string) =>
    verify('verify-inclusion', '--index', index, '--leaf-hash', breadcrumb_id, '--entry-out', entry)
  await inclusion('200')
  assert.deepEqual(JSON.parse(readFileSync(entry, 'utf8')), record)
  await assert.rejects(inclusion('199'))

  // Our witness cosigns a log of theirs, and refuses its fork.
  const seed = Buffer.alloc(32, SEED_BYTE).toString('hex')
  const args = ['-B', FEED, scene.witness_url, WITNESS_VKEY, OTHER_ORIGIN, seed]
  const { stdout } = await execute(python, args)
  assert.match(stdout, /refused: Witness(?:Rejected|Conflict)/)
  const note = stdout.slice(0, stdout.indexOf('\n\n', stdout.indexOf('\n\n') + 2) + 1)
  const checks = await checkWitnesses(note, { keys: [WITNESS_VKEY] })
  assert.ok(
    checks.every(({ ok }) => ok),
    note,
  )
  assert.equal(scene.contradictions.length, 1)
})
