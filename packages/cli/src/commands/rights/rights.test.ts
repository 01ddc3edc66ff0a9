// Commands of people who answer for the data: subject, hold, retention, report.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { test } from 'node:test'
import { runCustos, spawnCustos, tempDirectory } from '../../testing/run.ts'
import { type LocalService, serveLocally } from '../../testing/serve-locally.ts'
import { confirm } from '../../verbs.ts'

async function writeMemories({ call }: LocalService): Promise<void> {
  for (const content of ['Ana Silva keeps bees', 'The ferry is blue', 'Mrs Silva has moved'])
    await call('POST', '/v1/stores/default/write', { content })
}

const runner =
  (url: string) =>
  (...args: string[]) =>
    runCustos(args, { env: { CUSTOS_URL: url } })

test('a person is previewed and erased under every name, and the proof verifies', async (t) => {
  const service = await serveLocally(t)
  await writeMemories(service)
  const run = runner(service.url)
  const who = ['--text', 'Ana Silva', '--text', 'Mrs Silva']
  const shown = await run('subject', 'preview', ...who)
  assert.equal(shown.status, 0, shown.stderr)
  assert.match(shown.stdout, /memories in default +2 +0\n/)
  const [, digest = ''] = /^digest ([0-9a-f]{64})$/m.exec(shown.stdout) ?? []

  await service.call('POST', '/v1/stores/default/write', { content: 'Mrs Silva is back' })
  const changed = await run('subject', 'erase', ...who, '--yes', '--expect-digest', digest)
  assert.equal(changed.status, 1)
  assert.match(changed.stderr, /^custos subject: 409 [^\n]+\n$/)

  const file = join(tempDirectory(), 'bundle.ndjson')
  const done = await run('subject', 'erase', ...who, '--yes', '-o', file)
  assert.equal(done.status, 0, done.stderr)
  assert.match(done.stdout, /done: 3 of 3 items/)
  assert.match((await run('subject', 'preview', ...who)).stdout, /^decisions that match +0/m)
  const keys = `${file}.keys`
  writeFileSync(keys, await service.text('/v1/gcrumbs/public_key'))
  const verified = await run('verify', file, '--keys', keys)
  assert.equal(verified.status, 0, verified.stdout + verified.stderr)
  const [, request_id = ''] = /^request (\S+) accepted$/m.exec(done.stdout) ?? []
  const again = `${file}.again`
  const saved = await run('subject', 'manifest', request_id, '-o', again)
  assert.equal(saved.status, 0, saved.stderr)
  assert.equal(readFileSync(again, 'utf8'), readFileSync(file, 'utf8'))
})

test('what is held about a person is written in each format', async (t) => {
  const service = await serveLocally(t)
  await writeMemories(service)
  const run = runner(service.url)
  const file = join(tempDirectory(), 'access')
  for (const [format, start] of [
    ['ndjson', '{"record":"header"'],
    ['json', '{"records":['],
    ['html', '<!doctype html>'],
    ['pdf', '%PDF-1.7'],
  ] as const) {
    const args = ['--text', 'Silva', '--format', format, '-o', `${file}.${format}`]
    const ran = await run('subject', 'access', ...args)
    assert.equal(ran.status, 0, ran.stderr)
    assert.ok(readFileSync(`${file}.${format}`, 'latin1').startsWith(start), format)
  }
  const wrong = await run('subject', 'access', '--text', 'Silva', '--format', 'docx')
  assert.match(wrong.stderr, /^custos subject: 422 query\.format: [^\n]+\n$/)
})

test('without a terminal nothing is erased or released unless --yes says so', async (t) => {
  const service = await serveLocally(t)
  await writeMemories(service)
  const env = { CUSTOS_URL: service.url }
  const ran = await spawnCustos(['subject', 'erase', '--text', 'Silva'], { env, input: 'y\n' })
  assert.equal(ran.status, 2)
  assert.match(ran.stderr, /confirm it on a terminal, or with --yes/)
  const left = await runner(service.url)('subject', 'preview', '--text', 'Silva')
  assert.match(left.stdout, /memories in default +2/)
})

test('on a terminal only a yes confirms', async () => {
  for (const [answer, confirmed] of [
    ['y\n', true],
    ['Yes\n', true],
    ['\n', false],
    ['no\n', false],
    [null, false],
  ] as const) {
    const input = Object.assign(new PassThrough(), { isTTY: true })
    const output = new Writable({ write: (_chunk, _encoding, done) => done() })
    input.end(answer ?? '')
    const asked = confirm('Erase?', false, input, output)
    if (confirmed) await asked
    else await assert.rejects(asked, /nothing was changed/)
  }
})

test('an option that does not exist is refused with the nearest one', async () => {
  const cases = [
    [['subject', 'preview', '--txt', 'x'], 'unknown option --txt; did you mean --text?'],
    [['hold', 'place', 's', '--untl', 'x'], 'unknown option --untl; did you mean --until?'],
    [['subject', 'preview', '--yes', '--text', 'x'], 'unknown option --yes'],
    [['subject', 'preview'], 'say whom to search for'],
    [['retention', 'set', 's'], 'give either --days N or --no-limit'],
  ] as const
  for (const [args, expected] of cases) {
    const ran = await runCustos(args)
    assert.equal(ran.status, 2, args.join(' '))
    assert.ok(ran.stderr.startsWith(`custos ${args[0]}: ${expected}`), ran.stderr)
  }
})

test('a hold stops an erasure until it is released, and retention is set and run', async (t) => {
  const service = await serveLocally(t)
  await writeMemories(service)
  const run = runner(service.url)
  const placed = await run('hold', 'place', 'default', '--reason', 'a claim', '--matter', 'C-1')
  assert.equal(placed.status, 0, placed.stderr)
  const [, hold_id = ''] = /^hold (\S+) on default, until released\n$/.exec(placed.stdout) ?? []
  const listed = await run('hold', 'list', 'default', '--standing')
  assert.match(listed.stdout, new RegExp(`${hold_id}  .* yes .* C-1 +a claim\n`))
  const kept = await run('subject', 'erase', '--text', 'Silva', '--yes')
  assert.match(kept.stdout, /done_with_holds/)
  const set = await run('retention', 'set', 'default', '--days', '30', '--basis', 'x', '--yes')
  assert.equal(set.status, 0, set.stderr)
  assert.match(set.stdout, /^default: kept for 30 days \(x\)\n0 memories are due/)
  assert.match(set.stdout, /1 legal holds are in force/)
  const refused = await run('retention', 'run', 'default', '--yes')
  assert.match(refused.stderr, /^custos retention: 409 /)
  const freed = await run('hold', 'release', 'default', hold_id, '--reason', 'settled', '--yes')
  assert.match(freed.stdout, /released at/)
  const ran = await run('retention', 'run', 'default', '--yes')
  assert.equal(ran.status, 0, ran.stderr)
  const unlimited = await run('retention', 'set', 'default', '--no-limit')
  assert.match(unlimited.stdout, /kept without a limit/)
})

test('a report is generated with a file, listed and downloaded', async (t) => {
  const service = await serveLocally(t)
  const run = runner(service.url)
  const file = join(tempDirectory(), 'report.html')
  const args = ['--framework', 'gdpr', '--title', 'Weekly', '--format', 'html', '-o', file]
  const made = await run('report', 'generate', ...args)
  assert.equal(made.status, 0, made.stderr)
  assert.match(readFileSync(file, 'utf8'), /<h1 dir="auto">Weekly<\/h1>/)
  const [, id = ''] = /^report (\S+) \(Weekly\): [A-Z_]+\n/.exec(made.stdout) ?? []
  assert.match((await run('report', 'list')).stdout, new RegExp(`${id}  gdpr `))
  const json = `${file}.json`
  const saved = await run('report', 'download', id, '-o', json)
  assert.equal(saved.status, 0, saved.stderr)
  assert.equal(JSON.parse(readFileSync(json, 'utf8')).report_id, id)
})
