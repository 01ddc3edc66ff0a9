// The files of deploy/ for containers against the code, and against tools that know the formats.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { SETTINGS } from '@custos/server'
import { ROOT, readPage } from './testing/page.ts'

const KUBERNETES = 'deploy/kubernetes'
const COMPOSE = ['compose.yaml', 'deploy/compose/tls.yaml']
const service = readPage(`${KUBERNETES}/custos.yaml`)
const migrate = readPage(`${KUBERNETES}/migrate.yaml`)
const tls = readPage('deploy/compose/tls.yaml')
const caddyfile = readPage('deploy/compose/Caddyfile')
const imageTest = readPage('deploy/test-image.sh')
const page = readPage('docs/operating/deploy.md')

/** What a tool says, or null, loudly, where it is not installed. */
function ask(t: TestContext, program: string, args: readonly string[], env = {}) {
  const { error, status, stdout, stderr } = spawnSync(program, args, {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  if (!error) return { status, said: `${stdout}${stderr}` }
  t.diagnostic(`NOT CHECKED: THERE IS NO ${program} ON THIS MACHINE`)
  return null
}

test('every setting that the files name is one of the service', () => {
  const known: readonly string[] = SETTINGS.map(({ name }) => name)
  for (const text of [service, migrate, tls, page]) {
    const named = [...text.matchAll(/\bCUSTOS_[A-Z_]+\b/g)].map(([name]) => name)
    assert.ok(named.length > 0)
    for (const name of named) assert.ok(known.includes(name), `${name} is no setting`)
  }
})

test('every container runs without rights, on a file system it cannot write', () => {
  for (const text of [service, migrate]) {
    for (const line of [
      'runAsNonRoot: true',
      'readOnlyRootFilesystem: true',
      'allowPrivilegeEscalation: false',
      'drop: ["ALL"]',
      'type: RuntimeDefault',
      'automountServiceAccountToken: false',
    ])
      assert.ok(text.includes(line), line)
    assert.doesNotMatch(text, /hostNetwork|hostPath|privileged: true|:latest/)
  }
  for (const line of ['read_only: true', 'no-new-privileges:true']) assert.ok(tls.includes(line))
})

test('no secret is in the files: each comes from a Secret or the environment', () => {
  for (const text of [service, migrate])
    for (const [, name = '', next = ''] of text.matchAll(/- name: (CUSTOS_\w+)\n +(\w+):/g))
      assert.equal(next, /KEY|_URL/.test(name) ? 'valueFrom' : 'value', name)
  const keys = [...`${service}${migrate}`.matchAll(/name: (custos[\w-]*)\n +key: ([\w-]+)/g)]
  assert.ok(keys.length >= 7)
  for (const [, secret, key] of keys)
    assert.match(page, new RegExp(`secret generic ${secret} [^\\n]*--from-literal=${key}=`))
  assert.match(tls, /PUBLIC_HOST: \$\{PUBLIC_HOST:\?[^}]+\}/)
})

test("probes ('platform.readyz'), port, image and stop time are those of the service", () => {
  const port = SETTINGS.find(({ name }) => name === 'CUSTOS_PORT')?.fallback
  assert.ok(service.includes(`containerPort: ${port}`))
  assert.ok(caddyfile.includes(`custos-1:${port} custos-2:${port}`))
  const probes = [...service.matchAll(/(\w+)Probe:\n +httpGet:\n +path: (\S+)/g)]
  assert.deepEqual(
    probes.map(([, kind, path]) => [kind, path]),
    [
      ['startup', '/healthz'],
      ['liveness', '/healthz'],
      ['readiness', '/readyz'],
    ],
  )
  assert.ok(caddyfile.includes('health_uri /readyz'))
  const stop = /const STOP_MS = ([\d_]+)/.exec(readPage('packages/cli/src/commands/serve.ts'))
  const wait = /terminationGracePeriodSeconds: (\d+)/.exec(service)
  // Until no proxy sends anything more, then until what is under way is done.
  const before = /preStop:\n +exec:\n.*setTimeout\(\(\) => \{\}, (\d+)\)/.exec(service)
  const stops = Number(before?.[1]) + Number(stop?.[1]?.replaceAll('_', ''))
  assert.ok(Number(wait?.[1]) * 1_000 > stops)
  const { version } = JSON.parse(readPage('package.json'))
  for (const text of [service, migrate, readPage('compose.yaml')])
    assert.ok(text.includes(`image: custos:${version}\n`))
  const commands = [...`${service}${migrate}`.matchAll(/args: \["(\w+)"\]/g)]
  assert.deepEqual(
    commands.map(([, name]) => name),
    ['serve', 'migrate'],
  )
})

test('Services, budget and policy choose the processes by labels that these have', () => {
  const [, labels = ''] =
    /\n {2}template:\n {4}metadata:\n {6}labels:\n((?: {8}.*\n)+)/.exec(service) ?? []
  const pods = labels.trim().split(/\n\s*/)
  assert.equal(pods.length, 2)
  const chosen = [
    ...service.matchAll(/(?:selector|matchLabels):\n((?: +app\.kubernetes\.io.*\n)+)/g),
  ]
  assert.equal(chosen.length, 6)
  for (const [, lines = ''] of chosen)
    for (const line of lines.trim().split(/\n\s*/)) assert.ok(pods.includes(line), line)
})

test('the test of the image runs the line of the guide, of which it knows every name', () => {
  const line = /^docker run (.*) custos:\S+$/m.exec(readPage('docs/operating/README.md'))?.[1]
  for (const name of ['--name custos ', '--volume custos-data:/data', ':8420:8420', '--read-only'])
    assert.ok(line?.includes(name), name)
  for (const [, name] of line?.matchAll(/--env (\w+)/g) ?? [])
    assert.match(imageTest, new RegExp(`^export ${name}\\b`, 'm'))
})

test('Kubernetes takes the manifests, by its schemas', (t) => {
  for (const name of readdirSync(join(ROOT, KUBERNETES))) {
    const answer = ask(t, 'kubernetes-validate', ['--strict', join(KUBERNETES, name)])
    if (answer) assert.equal(answer.status, 0, answer.said)
  }
})

test('hadolint finds nothing in the Dockerfile', (t) => {
  const answer = ask(t, 'hadolint', ['Dockerfile'])
  if (answer) assert.deepEqual(answer, { status: 0, said: '' })
})

test('Caddy takes the configuration of the proxy', (t) => {
  const options = ['validate', '--adapter', 'caddyfile', '--config', 'deploy/compose/Caddyfile']
  const answer = ask(t, 'caddy', options, { PUBLIC_HOST: 'memory.example.org', HOME: tmpdir() })
  if (answer) assert.equal(answer.status, 0, answer.said)
})

test('the compose files fit the schema of the Compose specification', (t) => {
  const answer = ask(t, 'check-jsonschema', ['--builtin-schema', 'vendor.compose-spec', ...COMPOSE])
  if (answer) assert.equal(answer.status, 0, answer.said)
})

test('docker compose reads both files together', (t) => {
  const files = COMPOSE.flatMap((path) => ['-f', path])
  const env = Object.fromEntries(
    [
      ...COMPOSE.map(readPage)
        .join('')
        .matchAll(/\$\{(\w+):\?/g),
    ].map(([, name]) => [name, 'a1']),
  )
  if (spawnSync('docker', ['compose', 'version']).status !== 0)
    return t.diagnostic('NOT CHECKED: THERE IS NO docker compose ON THIS MACHINE')
  const answer = ask(t, 'docker', ['compose', ...files, 'config', '--quiet'], env)
  assert.equal(answer?.status, 0, answer?.said)
})
