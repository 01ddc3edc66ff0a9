// custos verify: which documents it accepts, and that it detects every alteration.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { readSavedDocuments, verifySavedDocument } from '@custos/proof'
import fc from 'fast-check'
import {
  type CommandResult,
  runCustos,
  spawnCustos,
  type TestCleanup,
  tempDirectory,
} from '../testing/run.ts'
import { type SampleData, serveLocally, writeSampleData } from '../testing/serve-locally.ts'

const files = new Map<string, string>()
let dir = ''
let written: SampleData

const path = (name: string) => join(dir, name)
const pathTo = (name: string, value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  files.set(name, text)
  writeFileSync(path(name), text)
  return path(name)
}
const parsed = (name: string) => JSON.parse(files.get(name) ?? 'null')
const verify = (...args: string[]): Promise<CommandResult> =>
  runCustos(['verify', ...args, '--keys', path('keys.json')])
const verdicts = ({ stdout }: CommandResult) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

// What is said of an epoch beside its signed note; witnesses and timestamps have their own keys.
const UNSIGNED = ['epoch_number', 'cosignatures', 'witnessed', 'timestamp']

describe('verify', () => {
  before(async () => {
    const ends: (() => void | Promise<void>)[] = []
    const t: TestCleanup = { after: (end) => void ends.push(end) }
    dir = tempDirectory()
    const local = await serveLocally(t)
    const { call, text } = local
    written = await writeSampleData(local)
    const seq = written.certificate.log_seq
    const proof = await call('GET', `/v1/gcrumbs/epochs/2/proof?seq=${seq}`)
    pathTo('keys.json', await call('GET', '/v1/gcrumbs/public_key'))
    pathTo('certificate.json', written.certificate)
    pathTo('decision.json', await call('GET', `/v1/decisions/${written.decision_id}`))
    const decision = { decision: 'certify', invoice_id: 'INV-1' }
    pathTo('receipt.json', await call('POST', '/v1/governed/decisions', decision))
    pathTo('epoch.json', await call('GET', '/v1/gcrumbs/epochs/2'))
    pathTo('proof.json', proof)
    pathTo('proof.tlog-proof', proof.tlog_proof)
    pathTo('entry.json', proof.breadcrumb)
    pathTo('checkpoint.txt', proof.checkpoint)
    pathTo('consistency.json', await call('GET', '/v1/gcrumbs/epochs/2/consistency?from=1'))
    pathTo('breadcrumbs.json', await call('GET', '/v1/gcrumbs/breadcrumbs'))
    pathTo('decisions.ndjson', await text('/v1/decisions/export'))
    pathTo('store.ndjson', await text('/v1/stores/default/export'))
    for (const end of ends.reverse()) await end()
  })

  test('a file of more documents than a call may have arguments is judged to its end', async () => {
    writeFileSync(path('many.ndjson'), '{}\n'.repeat(130_000))
    const { status, stdout } = await verify(path('many.ndjson'))
    assert.equal(status, 1)
    assert.match(stdout, /\n0 of 130000 valid\n$/)
  })

  test('every document of a service verifies with its published keys', async () => {
    const names = [...files.keys()].filter((n) => n !== 'keys.json' && !n.endsWith('.tlog-proof'))
    const ran = await verify(...names.map(path), '--json')
    assert.deepEqual(
      verdicts(ran).filter(({ valid }) => !valid),
      [],
    )
    assert.equal(ran.status, 0)
    assert.equal(ran.stderr, '')
    const types = new Set(verdicts(ran).map(({ type }) => type))
    for (const type of ['certificate', 'decision', 'epoch', 'proof', 'consistency', 'breadcrumbs'])
      assert.ok(types.has(type), type)
    for (const type of ['memory', 'checkpoint', 'receipt']) assert.ok(types.has(type), type)
  })

  test('a file that is no JSON from its first lines on gets one verdict', async () => {
    const junk = await verify(pathTo('junk.txt', 'these are words\n'.repeat(200)))
    assert.equal(junk.status, 1)
    assert.match(junk.stdout, /junk\.txt: unknown\n[^\n]+\n {2}INVALID: recognised: not JSON\n$/)
    const line = `${files.get('certificate.json')}\n`
    const damaged = await verify(pathTo('damaged.ndjson', `{"a": 1\n${line}`), '--json')
    assert.deepEqual(
      verdicts(damaged).map(({ valid }) => valid),
      [false, true],
    )
  })

  test('a certificate with any one field altered is invalid', async () => {
    const certificate = parsed('certificate.json')
    const unsigned = ['verified', 'deleted', 'memory_deleted', 'content_salt']
    const signed = Object.keys(certificate).filter(
      (field) => !unsigned.includes(field) && field !== 'decision_records_scrubbed',
    )
    const altered = signed.map((field) => ({ ...certificate, [field]: alter(certificate[field]) }))
    altered.push({ ...certificate, extra: 1 })
    for (const field of signed) {
      const { [field]: _, ...rest } = certificate
      // Without its copy of the signed bytes or its key's name a certificate is still whole.
      if (field !== 'signed_bytes' && field !== 'key_id') altered.push(rest)
    }
    const ran = await verify(pathTo('altered.ndjson', altered.map(toLine).join('')), '--json')
    const found = verdicts(ran)
    assert.equal(found.length, altered.length)
    for (const [i, { valid, type }] of found.entries())
      assert.ok(!valid, `${type} ${i} ${signed[i] ?? ''} was accepted`)
    assert.equal(ran.status, 1)
  })

  test('an epoch, a proof or an entry altered anywhere is invalid', async () => {
    for (const name of ['epoch.json', 'proof.json', 'entry.json']) {
      const whole = parsed(name)
      const fields = Object.keys(whole).filter(
        (field) => !['consistency', 'rolled', 'generation', 'origin', 'created_at'].includes(field),
      )
      const altered = fields
        .filter((field) => name === 'entry.json' || !UNSIGNED.includes(field))
        .map((field) => ({ ...whole, [field]: alter(whole[field]) }))
      const ran = await verify(pathTo('altered.json', altered.map(toLine).join('')), '--json')
      assert.deepEqual(
        verdicts(ran).filter(({ valid }) => valid),
        [],
        name,
      )
    }
  })

  test('what an answer says and no signature covers is named as not checked', async () => {
    const named = async (name: string, value: unknown): Promise<string[]> => {
      const ran = await verify(pathTo(name, value), '--json')
      assert.equal(ran.status, 0, ran.stdout)
      return verdicts(ran)[0].not_checked
    }
    const beside = /^what else the answer says: not in a signature$/
    const receipt = parsed('receipt.json')
    const around = await named('beside.json', { ...receipt, decision_record: {} })
    assert.match(around.at(-1) ?? '', beside)
    const alone = await named('alone.json', receipt.execution_receipt)
    assert.doesNotMatch(alone.at(-1) ?? '', beside)
    const page = await named('page.json', { ...parsed('breadcrumbs.json'), count: 0 })
    assert.match(page.at(-1) ?? '', beside)
    const { content_salt: _, ...certificate } = parsed('certificate.json')
    const told = await named('told.json', { ...certificate, verified: false })
    assert.match(told.join(), /^verified[a-z_, ]*: not in a signature$/)
    const witnessed = { ...parsed('proof.json'), witnessed: true, epoch_number: 9 }
    assert.deepEqual(await named('witnessed.json', witnessed), [
      'epoch numbers, cosignatures: not in a signature',
    ])
  })

  test('without keys the signature is checked, but the signer is unknown', async () => {
    const ran = await runCustos(['verify', path('certificate.json')])
    assert.equal(ran.status, 1)
    assert.match(ran.stdout, /ok {4}signature\n {2}FAIL {2}key_known: unknown_key/)
    assert.match(ran.stderr, /--keys FILE/)
  })

  test('keys of another service do not verify it', async (t) => {
    const other = await serveLocally(t)
    const keys = pathTo('other-keys.json', await other.call('GET', '/v1/gcrumbs/public_key'))
    const ran = await runCustos(['verify', path('certificate.json'), '--keys', keys])
    assert.equal(ran.status, 1)
    assert.match(ran.stdout, /key_known: unknown_key/)
  })

  test('a single public key is enough for its own signatures', async () => {
    const { keys } = parsed('keys.json')
    const { public_key } = keys.find(({ purpose }: { purpose: string }) => purpose === 'erasure')
    const ran = await runCustos(['verify', path('certificate.json'), '--key', public_key])
    assert.equal(ran.status, 0, ran.stdout)
    const short = await runCustos(['verify', path('certificate.json'), '--key', 'abc'])
    assert.deepEqual(
      [short.status, short.stderr],
      [2, 'custos verify: --key takes 64 hex digits\n'],
    )
  })

  test('a tlog-proof needs the entry that it proves', async () => {
    const proof = path('proof.tlog-proof')
    const ran = await verify(proof, '--entry', path('entry.json'))
    assert.equal(ran.status, 0, ran.stdout)
    const without = await verify(proof)
    assert.equal(without.status, 1)
    assert.match(without.stdout, /FAIL {2}entry: pass the log entry with --entry FILE/)
    const other = pathTo('other-entry.json', parsed('breadcrumbs.json').breadcrumbs[0])
    assert.equal((await verify(proof, '--entry', other)).status, 1)
  })

  test('a gap, a swap or an altered link in consecutive entries is found', async () => {
    const { breadcrumbs } = parsed('breadcrumbs.json')
    const [a, b, c, ...rest] = breadcrumbs
    for (const list of [
      [a, c, ...rest],
      [b, a, c],
      [a, { ...b, payload: {} }, c],
    ]) {
      const ran = await verify(pathTo('run.ndjson', list.map(toLine).join('')))
      assert.equal(ran.status, 1, ran.stdout)
      assert.match(ran.stdout, /FAIL {2}breadcrumbs/)
    }
  })

  test('a document with a key twice is invalid: readers may differ on which counts', async () => {
    const twice = (name: string) => (files.get(name) ?? '').replace(/^\{/, '{"tenant_id":"other",')
    const certificate = await verify(pathTo('twice.json', twice('certificate.json')))
    assert.equal(certificate.status, 1)
    assert.match(certificate.stdout, /a key occurs twice in an object/)
    const lines = `${files.get('certificate.json')}\n${twice('certificate.json')}\n`
    const line = await verify(pathTo('twice.ndjson', lines))
    assert.equal(line.status, 1)
    assert.match(line.stdout, /line 2[\s\S]*a key occurs twice in an object/)
    const entry = pathTo('twice-entry.json', twice('entry.json'))
    const proof = await verify(path('proof.tlog-proof'), '--entry', entry)
    assert.equal(proof.status, 1)
    assert.match(proof.stderr, /twice-entry\.json has a key that occurs twice in an object\n$/)
  })

  test('the file - is standard input', async () => {
    const input = files.get('certificate.json') ?? ''
    const ran = await spawnCustos(['verify', '-', '--keys', path('keys.json')], { input })
    assert.equal(ran.status, 0)
    assert.match(ran.stdout, /^-: certificate\n/)
  })

  test('a missing file, nothing named and an unknown option are one line each', async () => {
    const missing = await verify('/nowhere/x.json')
    const why = '/nowhere/x.json cannot be read: no such file or directory'
    assert.deepEqual([missing.status, missing.stderr], [1, `custos verify: ${why}\n`])
    const folder = await verify(path('.'))
    const other = `${path('.')} cannot be read: illegal operation on a directory`
    assert.deepEqual([folder.status, folder.stderr], [1, `custos verify: ${other}\n`])
    const nothing = await verify()
    assert.equal(nothing.status, 2)
    const unknown = await verify('--frobnicate')
    assert.equal(unknown.status, 2)
    assert.match(unknown.stderr, /^custos verify: [^\n]*frobnicate[^\n]*\n$/)
  })

  test('other input is invalid and never an error', async () => {
    const text = fc.oneof(
      fc.string(),
      fc.json(),
      fc.array(fc.json()).map((l) => l.join('\n')),
    )
    await fc.assert(
      fc.asyncProperty(text, async (given) => {
        for (const document of readSavedDocuments(given)) {
          const { valid } = await verifySavedDocument(document, { keys: [], entry: undefined })
          assert.equal(valid, false)
        }
      }),
      { numRuns: 300 },
    )
  })
})

const toLine = (value: unknown): string => `${JSON.stringify(value)}\n`

/** Another value of the same kind, so that it is the signature that has to notice. */
function alter(value: unknown): unknown {
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  if (value === null) return 'other'
  if (Array.isArray(value)) return [...value, 'other']
  if (typeof value === 'object') return { ...value, other: 'other' }
  const text = String(value)
  const last = text.charAt(text.length - 2)
  return `${text.slice(0, -2)}${last === 'A' || last === 'a' ? 'b' : 'a'}${text.slice(-1)}`
}
