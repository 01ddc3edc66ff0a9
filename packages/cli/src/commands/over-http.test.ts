// Commands that call a running service: tenant, export, import, demo.

import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { BIN, runCustos, spawnCustos, tempDirectory } from '../testing/run.ts'
import {
  type Answer,
  OPERATOR_KEY,
  serveLocally,
  writeSampleData,
} from '../testing/serve-locally.ts'

test('a tenant is created, listed and metered, and its key is rotated', async (t) => {
  const { url, call } = await serveLocally(t, { env: { CUSTOS_AUTH: 'required' } })
  const run = (...args: string[]) =>
    runCustos(['tenant', ...args], { env: { CUSTOS_URL: url, CUSTOS_OPERATOR_KEY: OPERATOR_KEY } })
  const made = await run('create', 'Acme', '--plan', 'pro')
  assert.equal(made.status, 0, made.stderr)
  const [, id = '', key = ''] =
    /^tenant (\S+) \(Acme, pro\)\napi key (cst_\S+)\nthe key is not shown again\n$/.exec(
      made.stdout,
    ) ?? []
  assert.ok(id !== '' && key !== '', made.stdout)
  await call('POST', '/v1/stores/default/write', { content: 'x' }, key)

  const listed = await run('list')
  assert.match(listed.stdout, new RegExp(`^tenant +name +plan +created +status\n${id} +Acme +pro `))
  assert.doesNotMatch(listed.stdout, /cst_/)
  const used = await run('usage', id)
  assert.match(used.stdout, /memory\.write +1/)

  const invited = await run('invite', id, 'ana@example.com')
  const [, invitation = ''] = /\ninvitation (\S+)\n/.exec(invited.stdout) ?? []
  const joined = await fetch(`${url}/v1/portal/invitation`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ invitation }),
  })
  assert.equal(joined.status, 201, invited.stderr)

  const rotated = await run('rotate-key', id)
  const [, next = ''] = /^api key (cst_\S+)\n1 keys revoked/.exec(rotated.stdout) ?? []
  await assert.rejects(call('GET', '/v1/stores', undefined, key), /401/)
  assert.ok(await call('GET', '/v1/stores', undefined, next))

  const unknown = await run('usage', 'nobody')
  assert.equal(unknown.status, 1)
  assert.match(unknown.stderr, /^custos tenant: 404 [^\n]+\n$/)
  const plan = await run('create', 'X', '--plan', 'gold')
  assert.match(plan.stderr, /^custos tenant: 422 body\.plan: [^\n]+\n$/)
  const keyless = await runCustos(['tenant', 'list', '--url', url])
  assert.equal(keyless.status, 2)
  assert.match(keyless.stderr, /CUSTOS_OPERATOR_KEY/)
})

test('the operator may choose a credential of several words', async (t) => {
  const CUSTOS_OPERATOR_KEY = 'a secret of 24 characters or more'
  const { url } = await serveLocally(t, { env: { CUSTOS_AUTH: 'required', CUSTOS_OPERATOR_KEY } })
  const env = { CUSTOS_URL: url, CUSTOS_OPERATOR_KEY }
  const made = await runCustos(['tenant', 'create', 'Clinic North'], { env })
  assert.equal(made.status, 0, made.stderr)
  const cut = { ...env, CUSTOS_OPERATOR_KEY: `${CUSTOS_OPERATOR_KEY}\n` }
  const refused = await runCustos(['tenant', 'list'], { env: cut })
  assert.match(refused.stderr, /^custos tenant: CUSTOS_OPERATOR_KEY is empty or has characters /)
})

test('an export is imported elsewhere with refs, versions and times', async (t) => {
  const [from, to] = [await serveLocally(t), await serveLocally(t)]
  await writeSampleData(from)
  const file = join(tempDirectory(), 'store.ndjson')
  const out = await runCustos(['export', 'default', '-o', file, '--url', from.url])
  assert.equal(out.status, 0, out.stderr)
  assert.match(out.stdout, /^3 memories, /)
  assert.equal(readFileSync(file, 'utf8').trim().split('\n').length, 4)

  const back = await runCustos(['import', 'default', file, '--url', to.url])
  assert.equal(back.status, 0, back.stderr)
  assert.match(back.stdout, /^3 memories imported into default\n/)
  const shape = ({ memories }: Answer) => memories.map(({ ref, content }) => [ref, content])
  assert.deepEqual(
    shape(await to.call('GET', '/v1/stores/default/audit')),
    shape(await from.call('GET', '/v1/stores/default/audit')),
  )
  const twice = await runCustos(['import', 'default', file, '--url', to.url])
  assert.match(twice.stdout, /^0 memories imported into default\n3 memories left out/)
  const all = ['import', 'default', file, '--allow-duplicates', '--url', to.url]
  assert.match((await runCustos(all)).stdout, /^3 memories imported into default\n3 memories got/)
  const piped = await spawnCustos(['export', 'default', '--url', from.url])
  assert.equal(piped.stdout.trim().split('\n').length, 4)
  const again = await spawnCustos(['import', 'other', '-', '--url', to.url], {
    input: '{"content":"from a pipe"}\n',
  })
  assert.match(again.stdout + again.stderr, /1 memories imported|404/)
})

test('an export into a pipe or through a link goes where the name leads', async (t) => {
  const { url } = await serveLocally(t)
  const dir = tempDirectory()
  const [pipe, link, real] = [join(dir, 'pipe'), join(dir, 'link'), join(dir, 'real')]
  execFileSync('mkfifo', [pipe])
  writeFileSync(real, 'older')
  symlinkSync(real, link)
  const read = promisify(execFile)('timeout', ['10', 'cat', pipe])
  for (const output of [pipe, link]) {
    const ran = await runCustos(['export', 'default', '-o', output, '--url', url])
    assert.equal(ran.status, 0, ran.stderr)
  }
  assert.match((await read).stdout, /^\{"custos_export":1,/)
  assert.match(readFileSync(real, 'utf8'), /^\{"custos_export":1,/)
  assert.ok(lstatSync(pipe).isFIFO() && lstatSync(link).isSymbolicLink())
  const all = openSync(join(dir, 'all'), 'a')
  t.after(() => closeSync(all))
  writeFileSync(all, 'older\n')
  const args = [BIN, 'export', 'default', '-o', '/dev/stdout', '--url', url]
  const child = spawn(process.execPath, args, { stdio: ['ignore', all, 'inherit'] })
  const [status] = await once(child, 'close')
  assert.equal(status, 0)
  assert.match(readFileSync(join(dir, 'all'), 'utf8'), /^older\n\{"custos_export":1,[^\n]*\}\n$/)
})

test('an export is written where links lead, though no file is there yet', async (t) => {
  const { url } = await serveLocally(t)
  const dir = tempDirectory()
  const [early, circle] = [join(dir, 'early'), join(dir, 'circle')]
  symlinkSync('later', early)
  symlinkSync('circle', circle)
  const statusOf = async (output: string) =>
    (await runCustos(['export', 'default', '-o', output, '--url', url])).status
  assert.deepEqual([await statusOf(early), await statusOf(circle)], [0, 1])
  assert.match(readFileSync(join(dir, 'later'), 'utf8'), /^\{"custos_export":1,/)
  assert.ok(lstatSync(early).isSymbolicLink() && lstatSync(circle).isSymbolicLink())
})

test('an invalid line, a missing file and an unknown store are one-line errors', async (t) => {
  const { url } = await serveLocally(t)
  const file = join(tempDirectory(), 'bad.ndjson')
  writeFileSync(file, '{"content":"good"}\n{"content":7}\n')
  for (const args of [
    ['import', 'default', file],
    ['import', 'default', join(file, 'none')],
    ['export', 'nowhere'],
  ]) {
    const ran = await runCustos([...args, '--url', url])
    assert.equal(ran.status, 1, args.join(' '))
    assert.match(ran.stderr, /^custos (import|export): [^\n]+\n$/)
  }
})

for (const ms of [0, 20])
  test(`an export that is interrupted after ${ms} ms leaves no file`, async (t) => {
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' })
      response.write('{"custos_export":1}\n')
      setTimeout(() => response.destroy(), ms)
    })
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    t.after(() => server.close())
    // A TCP server has an address object, never a path.
    const { port } = server.address() as AddressInfo
    const file = join(tempDirectory(), 'cut.ndjson')
    const ran = await runCustos(['export', 's', '-o', file, '--url', `http://127.0.0.1:${port}`])
    assert.equal(ran.status, 1)
    assert.match(ran.stderr, /^custos export: [^\n]+\n$/)
    assert.ok(!existsSync(file))
  })

test('an address without a service is a one-line error', async () => {
  const ran = await runCustos(['export', 'default', '--url', 'http://127.0.0.1:9'])
  assert.equal(ran.status, 1)
  assert.match(ran.stderr, /^custos export: no answer from http:\/\/127\.0\.0\.1:9: [^\n]+\n$/)
  const bad = await runCustos(['export', 'default', '--url', 'ftp://x'])
  assert.equal(bad.status, 2)
})

test('a page is no export, and a service that is away no wrong usage', async (t) => {
  const { url } = await serveLocally(t)
  const file = join(tempDirectory(), 'memories.ndjson')
  for (const more of [[], ['-o', file]]) {
    const ran = await runCustos(['export', 'default', '--url', `${url}/console`, ...more])
    assert.deepEqual([ran.status, ran.stdout, existsSync(file)], [1, '', false])
    assert.match(ran.stderr, /console did not answer like a Custos service/)
  }
  const away = await runCustos(['mcp', '--url', 'http://127.0.0.1:9'])
  assert.equal(away.status, 1)
  assert.match(away.stderr, /^custos mcp: no answer from [^\n]+ with --url\n$/)
})

test('the demo takes less than 60 lines and leaves nothing behind', async () => {
  const ran = await runCustos(['demo'])
  assert.equal(ran.status, 0, ran.stderr)
  const lines = ran.stdout.trim().split('\n')
  assert.ok(lines.length < 60 && lines.length > 25)
  for (let chapter = 1; chapter <= 8; chapter += 1)
    assert.ok(
      lines.some((line) => line.startsWith(`${chapter}. `)),
      `chapter ${chapter}`,
    )
  assert.match(ran.stdout, /name and number are in none/)
  assert.match(ran.stdout, /not valid, as expected/)
  assert.match(ran.stdout, /custos fsck does: nothing found/)
  const [, dir = ''] = / data in (\S+)\/data\.\n/.exec(ran.stdout) ?? []
  assert.ok(dir !== '' && !existsSync(dir))
})

test('the demo runs on an existing service, and its evidence can be kept', async (t) => {
  const { url } = await serveLocally(t)
  const env = { TMPDIR: tempDirectory() }
  const ran = await runCustos(['demo', '--url', url, '--keep'], { env })
  assert.equal(ran.status, 0, ran.stderr)
  const [, command = ''] = /\n {2}custos (verify .*)\n/.exec(ran.stdout) ?? []
  const verified = await runCustos(command.split(' '))
  assert.equal(verified.status, 0, verified.stdout + verified.stderr)
})
