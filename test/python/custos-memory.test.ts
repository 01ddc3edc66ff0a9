// The Python package, installed into an environment of its own, on a real service.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { Custos } from '@custos/client'
import { verifyEnvelope } from '@custos/proof'
import { alterations } from '../../packages/proof/src/testing/alterations.ts'
import { openScene } from '../../packages/server/src/testing/erasure-scene.ts'
import { startTestService } from '../../packages/server/src/testing/harness.ts'
import { roundsOf } from '../../packages/server/src/testing/sweep.ts'
import { makeEnvironment } from './testing/environment.ts'

const ROOT = join(import.meta.dirname, '../..')
const PACKAGE = join(ROOT, 'python/custos-memory')
const execute = promisify(execFile)

test('the Python client, its LangGraph store and its verifier', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'custos-python-'))
  try {
    let python: string
    try {
      const environment = await makeEnvironment(join(dir, 'venv'))
      python = environment.python
      // A copy: a build writes beside the sources.
      cpSync(PACKAGE, join(dir, 'package'), { recursive: true })
      await environment.install('setuptools>=70')
      // As it is published: the archive of the sources, from which pip makes a wheel.
      const build = "import setuptools.build_meta as b; print(b.build_sdist('.'))"
      const { stdout } = await execute(python, ['-c', build], { cwd: join(dir, 'package') })
      const archive = stdout.trim().split('\n').at(-1) ?? ''
      await environment.install(`${join(dir, 'package', archive)}[langgraph,verify]`)
    } catch (error) {
      t.diagnostic(`NOT TESTED: Python 3.10 with pip and an index is needed: ${error}`)
      return
    }
    // Type checkers read the package only with this file in it.
    const installed = 'import custos_memory, os; print(os.listdir(custos_memory.__path__[0]))'
    const listed = await execute(python, ['-c', installed], { cwd: dir })
    assert.match(listed.stdout, /'py\.typed'/)
    const service = await startTestService()
    try {
      const { api_key } = await service.createTenant('python')
      const env = {
        ...process.env,
        CUSTOS_URL: service.url,
        CUSTOS_API_KEY: api_key,
        CUSTOS_RUNS: String(roundsOf(25, 300)),
      }
      const args = ['-m', 'unittest', 'discover', '-s', join(PACKAGE, 'tests')]
      const { stderr } = await execute(python, ['-B', ...args], { env, timeout: 280_000 })
      t.diagnostic(stderr.trim().split('\n').slice(-3).join(' '))
      assert.match(stderr, /\nOK\s*$/)
      await exportAndImport(python, dir, env)
      await refuseAlterations(python, dir)
    } finally {
      await service.stop()
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})

/** The script that `custos import --help` prints, on a store of LangGraph, and what it is for. */
async function exportAndImport(python: string, cwd: string, env: NodeJS.ProcessEnv) {
  const custos = (...args: string[]) =>
    execute(process.execPath, [join(ROOT, 'packages/cli/bin/custos.js'), ...args], { cwd, env })
  const { stdout: help } = await custos('import', '--help')
  const printed = /^ {2}import json\n[\s\S]*?items\.jsonl"\)\n/m.exec(help)?.[0]
  const script = printed?.replaceAll(/^ {2}/gm, '')
  assert.ok(script && script.trim().split('\n').length <= 12, script)
  const store = `from langgraph.store.memory import InMemoryStore
store = InMemoryStore()
store.put(("users", "ana"), "food", {"note": "Ana is allergic to nuts"})
store.put(("users",), "count", {"n": 2})
`
  await execute(python, ['-c', store + script], { cwd })
  const { stdout } = await custos('import', '--from', 'langgraph', 'items.jsonl')
  assert.match(stdout, /^2 memories imported into default/)
  const client = new Custos({ url: `${env['CUSTOS_URL']}`, apiKey: `${env['CUSTOS_API_KEY']}` })
  const { item } = await client.items.get('default', { namespace: ['users', 'ana'], key: 'food' })
  assert.deepEqual(item?.value, { note: 'Ana is allergic to nuts' })
}

const JUDGE = `
import json, sys
from custos_memory.verify import ProofError, verify
keys = {"keys": json.loads(sys.stdin.readline())}
for line in sys.stdin:
    try:
        verify(json.loads(line), keys)
        print("valid")
    except ProofError:
        print("not valid")
`

/** What the offline verifier refuses, the verifier of the package refuses too. */
async function refuseAlterations(python: string, cwd: string): Promise<void> {
  const scene = await openScene()
  try {
    const ref = await scene.write('Ana lives in Porto')
    const decision_id = await scene.decide({ query: 'q', output: 'o', retrieved_refs: [ref] })
    const { body: epoch } = await scene.api('POST', '/v1/gcrumbs/roll')
    const { body: decision } = await scene.api('GET', `/v1/decisions/${decision_id}`)
    const { body: certificate } = await scene.issue(ref)
    const { keys } = (await scene.api('GET', '/v1/gcrumbs/public_key')).body
    const context = { keys }
    const genuine = [
      { type: 'certificate', certificate, document: certificate },
      { type: 'decision', decision, document: decision },
      { type: 'epoch', epoch, document: epoch },
    ]
    for (const { document, ...envelope } of genuine) {
      const cases: [string, unknown][] = [['genuine', document], ...alterations(document)]
      const said = await judgeAll(python, cwd, [keys, ...cases.map(([, altered]) => altered)])
      for (const [i, [name, altered]] of cases.entries()) {
        const ours = await verifyEnvelope({ ...envelope, [envelope.type]: altered }, context)
        const theirs = said[i] === 'valid'
        assert.ok(ours.valid || !theirs, `${envelope.type}: ${name}: ${ours.reason}`)
        if (i === 0) assert.deepEqual([ours.valid, theirs], [true, true], ours.reason)
      }
    }
  } finally {
    await scene.stop()
  }
}

const judgeAll = (python: string, cwd: string, lines: readonly unknown[]): Promise<string[]> =>
  new Promise((resolve, reject) => {
    const child = execFile(python, ['-B', '-c', JUDGE], { cwd }, (error, stdout) =>
      error ? reject(error) : resolve(stdout.trim().split('\n')),
    )
    child.stdin?.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  })
