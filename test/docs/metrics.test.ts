// The board, the alert rules and the page of metrics against what a running service emits.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, test } from 'node:test'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'
import { ROOT, readPage, sectionOf } from './testing/page.ts'

const METRIC = /\b(?:custos|process|nodejs)_[a-z0-9_]+\b/g
const RULES = 'deploy/prometheus/rules.yml'

const ASK_FIRST = {
  name: 'ask first',
  policy_type: 'hitl_required',
  config: { operations: ['artifacts.register'] },
}
const ARTIFACT = {
  artifact_ref: 'models/one',
  base_model_ref: 'base/model',
  layers: [{ digest: 'ab'.repeat(32) }],
}

let service: TestService
/** Names of samples, by which expressions ask. */
let emitted: Set<string>
/** Names and types of metrics. */
let declared: Map<string, string>

before(async () => {
  const metrics = { address: null, open: true, compat: true }
  service = await startTestService({ config: { metrics } })
  const { api_key: key } = await service.createTenant()
  await service.request('POST', '/v1/stores/default/write', { key, body: { content: 'One' } })
  await service.request('POST', '/v1/governance/policies', { key, body: ASK_FIRST })
  const waits = await service.request('POST', '/v1/artifacts/register', { key, body: ARTIFACT })
  assert.equal(waits.status, 202, waits.text)
  const { text } = await service.request('GET', '/metrics')
  const lines = text.split('\n')
  const samples = lines.filter((line) => /^\w/.test(line))
  emitted = new Set(samples.map((line) => /^\w+/.exec(line)?.[0] ?? ''))
  const types = lines.map((line) => /^# TYPE (\S+) (\S+)$/.exec(line))
  declared = new Map(types.flatMap((found) => (found ? [[found[1] ?? '', found[2] ?? '']] : [])))
})
after(() => service.stop())

interface Board {
  readonly panels: readonly {
    readonly title: string
    readonly targets: readonly { readonly expr: string }[]
  }[]
}

test('every metric that the board and the rules name is emitted by a running service', () => {
  const { panels }: Board = JSON.parse(readPage('deploy/grafana/custos.json'))
  assert.equal(panels.length, 12)
  const asked = panels.map(({ title, targets }) => ({
    where: title,
    names: targets.flatMap(({ expr }) => expr.match(METRIC) ?? []),
  }))
  const rules = readPage(RULES)
  const expressions = [...rules.matchAll(/ {8}expr:((?:.*\n)(?: {10}.*\n)*)/g)]
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)]
  assert.equal(expressions.length, alerts.length)
  asked.push({
    where: RULES,
    names: expressions.flatMap(([, text = '']) => text.match(METRIC) ?? []),
  })
  for (const { where, names } of asked) {
    assert.ok(names.length > 0, where)
    for (const name of names) assert.ok(emitted.has(name), `${where} asks for ${name}`)
  }
})

test('the page lists every metric of the service with its type, every alert, and no other', () => {
  const page = readPage('docs/operating/metrics.md')
  const rows = [...page.matchAll(/^\| `(custos_\w+)` \| (counter|gauge|histogram)/gm)]
  const listed = rows.map(([, name, type]) => `${name} ${type}`)
  const own = [...declared].filter(([name]) => name.startsWith('custos_'))
  assert.deepEqual(listed.toSorted(), own.map(([name, type]) => `${name} ${type}`).toSorted())
  const compat = sectionOf(page, '### Names of the reference service')
  const named = [...compat.matchAll(/`(grafomem_\w+)`/g)].map(([, name = '']) => name)
  const others = [...declared.keys()].filter((name) => name.startsWith('grafomem_'))
  assert.deepEqual(named.toSorted(), others.toSorted())
  const alerts = [...readPage(RULES).matchAll(/- alert: (\w+)/g)].map(([, name]) => name)
  const described = [...page.matchAll(/^\| `(Custos\w+)` \|/gm)].map(([, name]) => name)
  assert.deepEqual(described, alerts)
})

test('promtool accepts the rules, their tests and the metrics', async (t) => {
  if (spawnSync('promtool', ['--version']).status !== 0) {
    // Continuous integration installs it: there its absence is a failure.
    assert.equal(process.env['CI'], undefined, 'no promtool for the alert rules')
    return t.diagnostic('no promtool on this machine: apt-get install prometheus')
  }
  const cwd = `${ROOT}/deploy/prometheus`
  const run = (args: readonly string[], input = '') => {
    const { status, stdout, stderr } = spawnSync('promtool', args, {
      cwd,
      input,
      encoding: 'utf8',
    })
    assert.equal(status, 0, `${stdout}${stderr}`)
  }
  run(['check', 'rules', 'rules.yml'])
  run(['test', 'rules', 'rules.test.yml'])
  const { text } = await service.request('GET', '/metrics')
  const own = text.split('\n').filter((line) => /^(# \w+ )?custos_/.test(line))
  run(['check', 'metrics'], `${own.join('\n')}\n`)
})
