// custos conformance: verdicts, exit status, signatures and wrong usage.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCustos, type TestCleanup, tempDirectory } from '../testing/run.ts'
import { OPERATOR_KEY, serveLocally } from '../testing/serve-locally.ts'

const conformance = (args: readonly string[], env: Record<string, string> = {}) =>
  runCustos(['conformance', ...args], { env })

/** Two tenants of one service, as the tenant command makes them. */
async function serveTwo(t: TestCleanup) {
  const { url } = await serveLocally(t, { env: { CUSTOS_AUTH: 'required' } })
  const make = async (name: string): Promise<string> => {
    const env = { CUSTOS_URL: url, CUSTOS_OPERATOR_KEY: OPERATOR_KEY }
    const made = await runCustos(['tenant', 'create', name], { env })
    return /api key (\S+)/.exec(made.stdout)?.[1] ?? ''
  }
  return { url, own: await make('One'), other: await make('Two') }
}

test('a service with two tenants passes, and the signed result verifies by its key', async (t) => {
  const { url, own, other } = await serveTwo(t)
  const [pem, out] = [join(tempDirectory(), 'own.pem'), join(tempDirectory(), 'result.json')]
  const args = ['--url', url, '--seed', '5', '--signing-key', pem, '-o', out]
  const ran = await conformance(args, { CUSTOS_API_KEY: own, CUSTOS_OTHER_API_KEY: other })
  assert.equal(ran.status, 0, ran.stdout + ran.stderr)
  assert.match(ran.stdout, /^multi_tenant +pass +\d+\/\d+$/m)
  assert.match(ran.stdout, /^conflict_detection +not_declared +- +the store does not declare it$/m)
  assert.match(ran.stdout, /^7 of 7 tested capabilities pass: 1$/m)
  assert.match(ran.stdout, /, seed 5$/m)
  assert.match(ran.stderr, /^created a signing key: .*own\.pem$/m)
  assert.equal(statSync(pem).mode & 0o777, 0o600)
  assert.doesNotMatch(ran.stdout + readFileSync(out, 'utf8'), /cst_/)

  const [, public_key = ''] = /public key ([0-9a-f]{64})$/m.exec(ran.stderr) ?? []
  const verified = await runCustos(['verify', out, '--key', public_key])
  assert.equal(verified.status, 0, verified.stdout)
  const unknown = await runCustos(['verify', out])
  assert.match(unknown.stdout, /key_known: unknown_key[\s\S]*not checked: who signed/)
  writeFileSync(out, readFileSync(out, 'utf8').replace('"seed": 5', '"seed": 6'))
  const altered = await runCustos(['verify', out, '--key', public_key])
  assert.match(altered.stdout, /INVALID: signature/)
  assert.equal(altered.status, 1)
})

/** A proxy in front of a service that removes `as_of` from requests. */
async function forgetful(t: TestCleanup, target: string): Promise<string> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const body = text.replace(/"as_of":"[^"]*"/, '"as_of":null')
    const answer = await fetch(`${target}${request.url}`, {
      method: request.method ?? 'GET',
      headers: { 'content-type': 'application/json' },
      ...(text === '' ? {} : { body }),
    })
    response.writeHead(answer.status).end(await answer.text())
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  // The server listens on a port, so the address is an object.
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}`
}

test('a server that fails is status 1 with the reason, signed by a temporary key', async (t) => {
  const { url, call } = await serveLocally(t)
  const ran = await conformance(['--json'], { CUSTOS_URL: await forgetful(t, url) })
  assert.equal(ran.status, 1, ran.stderr)
  const result = JSON.parse(ran.stdout)
  const verdict = (name: string) =>
    result.capabilities.find((c: { capability: string }) => c.capability === name)
  assert.equal(verdict('bi_temporal').verdict, 'fail')
  assert.match(verdict('bi_temporal').reason, /no other version answers|the version of then/)
  assert.equal(verdict('multi_tenant').verdict, 'not_tested')
  assert.deepEqual([result.passed, result.tested], [5, 6])
  assert.match(ran.stderr, /created for this run and is gone now/)
  assert.doesNotMatch(JSON.stringify(await call('GET', '/v1/stores')), /conformance-/)
})

test('a suite that cannot run is status 2 and one line', async (t) => {
  const nobody = await conformance(['--url', 'http://127.0.0.1:9'])
  assert.equal(nobody.status, 2)
  assert.match(
    nobody.stderr,
    /^custos conformance: no answer from http:\/\/127\.0\.0\.1:9: [^\n]+\n$/,
  )
  for (const [args, reason] of [
    [['--seed', '-1'], /seed/],
    [['--seed', '99999999999999999'], /whole number/],
    [['--budget', '0'], /at least 1/],
    [['--url', 'ftp://x'], /http/],
    [['extra'], /no arguments/],
  ] as const) {
    const ran = await conformance(args)
    assert.equal(ran.status, 2, args.join(' '))
    assert.match(ran.stderr, reason)
  }
  const { url, call } = await serveLocally(t)
  const bad = join(tempDirectory(), 'bad.pem')
  writeFileSync(bad, 'no key\n')
  const keyed = await conformance(['--url', url, '--signing-key', bad])
  assert.equal(keyed.status, 2)
  assert.match(keyed.stderr, /is not an Ed25519 private key in PEM\n$/)
  const nowhere = join(tempDirectory(), 'none', 'own.pem')
  assert.equal((await conformance(['--url', url, '--signing-key', nowhere])).status, 2)
  assert.equal(existsSync(nowhere), false)
  assert.doesNotMatch(JSON.stringify(await call('GET', '/v1/stores')), /conformance-/)
})
