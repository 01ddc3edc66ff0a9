// Every rule of tidy finds its bad sample and leaves its good one alone.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { untested } from './tidy/operations.ts'
import { projectOf } from './tidy/project.ts'
import { checkAll, render } from './tidy/rules.ts'
import {
  architecture,
  assertRule,
  locations,
  SERVER,
  SLICE,
  sample,
} from './tidy/testing/sample.ts'
import { withTiers } from './tidy/texts.ts'

const MANIFEST = 'packages/server/package.json'

/** Imports of `to` from `from` are findings or not. */
function imports(from: string, to: string, text: string): number {
  return locations('imports', { [from]: text, [to]: 'export const a = 1' }).length
}

describe('imports', () => {
  test('a slice imports only the faces of slices in lower tiers', () => {
    const memory = `${SLICE}/memory/write.ts`
    const from = (slice: string, file: string) =>
      imports(memory, `${SLICE}/${slice}/${file}`, `import { a } from '../${slice}/${file}'`)
    assert.equal(from('gcrumbs', 'index.ts'), 0)
    assert.equal(from('gcrumbs', 'append.ts'), 1)
    assert.equal(from('erasure', 'index.ts'), 1)
  })

  test('a type import points in the same direction as any other', () => {
    const text = "import type { a } from '../erasure/index.ts'"
    assert.equal(imports(`${SLICE}/memory/write.ts`, `${SLICE}/erasure/index.ts`, text), 1)
    const inline = "export type A = import('../erasure/index.ts').A"
    assert.equal(imports(`${SLICE}/memory/write.ts`, `${SLICE}/erasure/index.ts`, inline), 1)
  })

  test('the platform knows no slice, a slice no transport, and product code no harness', () => {
    const up = "import { a } from '../slices/memory/index.ts'"
    assert.equal(imports(`${SERVER}/platform/call.ts`, `${SLICE}/memory/index.ts`, up), 1)
    const http = "import { a } from '../../http/bind.ts'"
    assert.equal(imports(`${SLICE}/memory/write.ts`, `${SERVER}/http/bind.ts`, http), 1)
    const harness = "import { a } from '../../testing/harness.ts'"
    const target = `${SERVER}/testing/harness.ts`
    assert.equal(imports(`${SLICE}/memory/write.ts`, target, harness), 1)
    assert.equal(imports(`${SLICE}/memory/write.test.ts`, target, harness), 0)
  })

  test('packages are imported only where architecture.json lists them', () => {
    const path = 'packages/proof/src/digest.ts'
    assertRule('imports', path, {
      bad: "import { createHash } from 'node:crypto'",
      good: "import { sha256 } from '@noble/hashes/sha2.js'",
    })
    assertRule('imports', 'packages/contract/src/core/limits.ts', {
      bad: "import { verify } from '@custos/proof'",
      good: "import type { Certificate } from '@custos/proof'",
    })
    assertRule('imports', 'packages/cli/src/verify.ts', {
      bad: "import fastify from 'fastify'",
      good: "import { verify } from '@custos/proof'",
    })
  })

  test('kysely, fastify and private keys stay where they belong', () => {
    const kysely = "import { sql } from 'kysely'"
    assert.equal(locations('imports', { [`${SLICE}/memory/write.ts`]: kysely }).length, 1)
    assert.equal(locations('imports', { [`${SLICE}/memory/facts.sql.ts`]: kysely }).length, 0)
    const fastify = "import type { FastifyInstance } from 'fastify'"
    assert.equal(locations('imports', { [`${SERVER}/app/start.ts`]: fastify }).length, 1)
    assert.equal(locations('imports', { [`${SERVER}/http/bind.ts`]: fastify }).length, 0)
    const keys = "import { createPrivateKey as load } from 'node:crypto'"
    assert.equal(locations('imports', { [`${SLICE}/erasure/issue.ts`]: keys }).length, 1)
    assert.equal(locations('imports', { [`${SERVER}/platform/keys/signer.ts`]: keys }).length, 0)
    assert.equal(locations('imports', { [`${SLICE}/erasure/issue.test.ts`]: keys }).length, 0)
  })

  test('queries are built in SQL files, while the type of a handle may go anywhere', () => {
    const target = `${SERVER}/platform/db/tenant-db.ts`
    const from = (kind: string) => `import ${kind}{ a } from '../../platform/db/tenant-db.ts'`
    assert.equal(imports(`${SLICE}/memory/write.ts`, target, from('')), 1)
    assert.equal(imports(`${SLICE}/memory/write.ts`, target, from('type ')), 0)
    assert.equal(imports(`${SLICE}/memory/facts.sql.ts`, target, from('')), 0)
  })

  test('an import of a file that is not there is named', () => {
    assertRule('imports', `${SERVER}/platform/call.ts`, { bad: "import './gone.ts'", good: '' })
  })

  test('a file outside every zone and a slice without a tier are named', () => {
    assert.deepEqual(locations('imports', { 'extra/thing.ts': '' }), ['extra/thing.ts:1'])
    assert.equal(locations('tiers', { [`${SLICE}/novel/index.ts`]: '' }).length, 1)
    assert.equal(locations('tiers', { [`${SLICE}/memory/index.ts`]: '' }).length, 0)
  })
})

describe('cycles', () => {
  const a = `${SERVER}/platform/a.ts`
  const b = `${SERVER}/platform/b.ts`

  test('files that need each other are a cycle, of another kind if only types count', () => {
    const back = (kind: string) => ({
      [a]: "import { b } from './b.ts'\nexport const a = b",
      [b]: `import ${kind}{ a } from './a.ts'`,
    })
    assert.equal(locations('file-cycle', back('')).length, 1)
    assert.equal(locations('file-cycle', back('type ')).length, 0)
    assert.equal(locations('type-cycle', back('type ')).length, 1)
    assert.equal(locations('file-cycle', { [a]: "import './a.ts'" }).length, 1)
  })

  test('a long way round is a cycle too', () => {
    const ring = { [a]: "import './b.ts'", [b]: "import './c.ts'" }
    const c = `${SERVER}/platform/c.ts`
    assert.equal(locations('file-cycle', { ...ring, [c]: "import './a.ts'" }).length, 1)
    assert.equal(locations('file-cycle', { ...ring, [c]: '' }).length, 0)
  })

  test('folders that need each other are a cycle, even by types and through other files', () => {
    const texts = (kind: string) => ({
      [`${SERVER}/platform/db/open.ts`]: `import ${kind}{ a } from '../keys/keyring.ts'`,
      [`${SERVER}/platform/keys/keyring.ts`]: '',
      [`${SERVER}/platform/keys/wrap.ts`]: "import type { b } from '../db/tables.ts'",
      [`${SERVER}/platform/db/tables.ts`]: '',
    })
    assert.equal(locations('folder-cycle', texts('type ')).length, 1)
    const { [`${SERVER}/platform/keys/wrap.ts`]: _, ...oneWay } = texts('')
    assert.equal(locations('folder-cycle', oneWay).length, 0)
  })

  test("a folder's own files are part of it: they and a subfolder can be a cycle", () => {
    const down = { [a]: "import './db/open.ts'", [`${SERVER}/platform/db/open.ts`]: '' }
    assert.equal(locations('folder-cycle', down).length, 0)
    const up = { ...down, [`${SERVER}/platform/db/open.ts`]: "import type { b } from '../b.ts'" }
    assert.equal(locations('folder-cycle', { ...up, [b]: '' }).length, 1)
  })
})

describe('shape', () => {
  const path = `${SERVER}/platform/a.ts`
  const lines = (count: number, line: string) => Array(count).fill(line).join('\n')

  test('functions, files, lines and parameter lists have a limit', () => {
    const body = (count: number) => `export function f() {\n${lines(count, '  g()')}\n}`
    assertRule('function-length', path, { bad: body(59), good: body(58) })
    assertRule('file-length', path, { bad: lines(500, 'f()'), good: lines(499, 'f()') })
    assertRule('line-length', path, { bad: `// ${'x'.repeat(98)}`, good: `// ${'x'.repeat(97)}` })
    assertRule('parameters', path, {
      bad: 'export const f = (a, b, c, d, e) => 1',
      good: 'export const f = (a, b, c, d) => 1',
    })
  })

  test('an address may be as long as it is, and a suite of tests too', () => {
    const address = `// https://example.org/${'x'.repeat(100)}`
    assert.deepEqual(locations('line-length', { [path]: address }), [])
    const suite = `describe('x', () => {\n${lines(80, '  f()')}\n})`
    assert.deepEqual(locations('function-length', { 'test/a.test.ts': suite }), [])
  })
})

describe('bans', () => {
  const path = `${SERVER}/platform/a.ts`

  test('time, chance and environment come from one place each', () => {
    assertRule('ambient', path, {
      bad: 'export const a = Date.now()',
      good: "const a = 'Date.now()'",
    })
    assertRule('ambient', path, {
      bad: 'export const a = new Date()',
      good: 'const a = Date.UTC(1, 1)',
    })
    assertRule('ambient', path, {
      bad: 'const a = new Date(1)',
      good: 'const a = {} satisfies Date',
    })
    assertRule('ambient', path, {
      bad: 'const a = Math.random()',
      good: 'const a = Math.floor(1.5)',
    })
    assertRule('ambient', path, { bad: 'const a = process.env', good: 'const a = process.pid' })
    assertRule('ambient', path, { bad: 'const a = process?.env', good: 'const a = call.process' })
    assertRule('ambient', path, {
      bad: "import { randomUUID } from 'node:crypto'",
      good: "import { randomBytes } from 'node:crypto'",
    })
    assert.deepEqual(locations('ambient', { [`${SERVER}/platform/clock.ts`]: 'Date.now()' }), [])
    assert.deepEqual(locations('ambient', { [`${SERVER}/platform/a.test.ts`]: 'Date.now()' }), [])
  })

  test('a ban says what to write instead', () => {
    const [finding] = checkAll(sample({ [path]: 'Date.now()' })).filter((f) => f.rule === 'ambient')
    assert.equal(
      finding && render(finding),
      `${path}:2 ambient: Date.now is banned; use kernel.clock.now() or tx.now()`,
    )
  })

  test('there is no way round the types', () => {
    assertRule('any', path, { bad: 'export let a: any', good: "export const a = 'any' // any" })
    assertRule('non-null', path, { bad: 'f(a!)', good: 'f(!a)' })
    for (const word of ['ignore', 'expect-error', 'nocheck'])
      assertRule('ts-comment', path, { bad: `// @ts-${word}\nf()`, good: `f('@ts-${word}')` })
  })

  test('exports have names, and only faces pass on what others export', () => {
    assertRule('default-export', path, { bad: 'export default 1', good: 'export const a = 1' })
    assertRule('default-export', path, {
      bad: 'export default function f() {}',
      good: 'export function f() {}',
    })
    assert.deepEqual(locations('default-export', { 'test/a.config.ts': 'export default 1' }), [])
    const pass = "export { a } from './b.ts'"
    assert.equal(locations('barrel', { [path]: pass }).length, 1)
    assert.equal(locations('barrel', { [`${SLICE}/memory/retrieval/index.ts`]: pass }).length, 1)
    assert.equal(locations('barrel', { [`${SLICE}/memory/index.ts`]: pass }).length, 0)
    assert.equal(locations('barrel', { 'packages/proof/src/index.ts': pass }).length, 0)
  })

  test('unfinished work is not marked but finished', () => {
    for (const word of ['TODO', 'FIXME'])
      assertRule('unfinished', path, { bad: `f() // ${word}: later`, good: `f('${word}')` })
  })

  test('every test runs', () => {
    const file = `${SERVER}/platform/a.test.ts`
    for (const word of ['only', 'skip', 'todo']) {
      assertRule('held-test', file, {
        bad: `test.${word}('a', () => {})`,
        good: `list.${word}('a')`,
      })
      assertRule('held-test', file, {
        bad: `test('a', { ${word}: true }, () => {})`,
        good: "test('a', { timeout: 5 }, () => {})",
      })
    }
    assertRule('held-test', file, { bad: "t.skip('absent')", good: "t.diagnostic('absent')" })
  })

  test('type assertions are counted, but for const', () => {
    assertRule('casts', path, { bad: 'f(<B>a)', good: 'f([1] as const)' })
    assert.equal(locations('casts', { [path]: 'f(a as B, b as B)' }).length, 2)
    assert.deepEqual(locations('casts', { [`${SERVER}/a.test.ts`]: 'f(a as B)' }), [])
  })

  test('a literal is not spread into a literal', () => {
    assertRule('literal-spread', path, {
      bad: 'f({ ...{ a, b } })',
      good: 'f({ ...(a && { b }), a })',
    })
  })
})

describe('files', () => {
  test('names are kebab-case and say something', () => {
    const good = ['fact-ref.ts', 'facts.sql.ts', 'a.properties.test.ts', '0001-foundation.ts']
    for (const name of good)
      assert.deepEqual(locations('file-name', { [`${SERVER}/platform/${name}`]: '' }), [], name)
    for (const name of ['factRef.ts', 'Fact.ts', 'fact_ref.ts', 'utils.ts', 'fact-manager.ts'])
      assert.equal(locations('file-name', { [`${SERVER}/platform/${name}`]: '' }).length, 1, name)
    assert.equal(locations('file-name', { [`${SERVER}/platform/helpers/a.ts`]: '' }).length, 1)
    assert.deepEqual(locations('file-name', { 'packages/contract/src/core/common.ts': '' }), [])
  })

  test('the first line says what the file is for', () => {
    const of = (text: string) =>
      checkAll(projectOf(new Map([[`${SERVER}/a.ts`, text]]), architecture)).some(
        ({ rule }) => rule === 'first-line',
      )
    assert.equal(of('export const a = 1\n'), true)
    assert.equal(of('// What this is.\nexport const a = 1\n'), false)
    assert.equal(of('#!/usr/bin/env node\n// What this is.\n'), false)
  })

  test('a product file must be reached by the product, not only by its test', () => {
    const texts = {
      [MANIFEST]: '{ "exports": { ".": "./src/index.ts" } }',
      [`${SERVER}/index.ts`]: "import './main.ts'",
      [`${SERVER}/main.ts`]: "new Worker(new URL('./worker.ts', import.meta.url))",
      [`${SERVER}/worker.ts`]: '',
      [`${SERVER}/lonely.ts`]: '',
      [`${SERVER}/lonely.test.ts`]: "import './lonely.ts'",
      [`${SERVER}/testing/harness.ts`]: '',
    }
    const harness = `${SERVER}/testing/harness.ts:1`
    assert.deepEqual(locations('dead-file', texts), [`${SERVER}/lonely.ts:1`, harness])
    const used = { ...texts, [`${SERVER}/b.test.ts`]: "import './testing/harness.ts'" }
    assert.deepEqual(locations('dead-file', used), [`${SERVER}/lonely.ts:1`])
  })
})

describe('guarantees', () => {
  test('a query in a SQL file names its tenant or is built by the handle', () => {
    const path = `${SLICE}/memory/facts.sql.ts`
    assertRule('tenant-id', path, {
      bad: "export const a = (k) => k.selectFrom('facts').where('ref', '=', 1)",
      good: "export const a = (k, p) => k.selectFrom('facts').where('tenant_id', '=', p.tenant_id)",
    })
    assertRule('tenant-id', path, {
      bad: "export function a(db) { return db.get('SELECT ref FROM facts') }",
      good: "export const a = (db) => db.all(from(db, 'facts').select('ref'))",
    })
    const control = `${SERVER}/platform/db/control.sql.ts`
    assert.deepEqual(locations('tenant-id', { [control]: "k.selectFrom('tenants')" }), [])
  })

  test('every operation is named by a test or by a row of the coverage page', () => {
    const contract = 'packages/contract/src/memory/memory.ts'
    const declared = "export const memory = { write: operation({ id: 'memory.write' }) }"
    const rule = 'operation-untested'
    assert.deepEqual(locations(rule, { [contract]: declared }), [`${contract}:2`])
    const tested = { [contract]: declared, 'test/a.test.ts': "call('memory.write')" }
    assert.deepEqual(locations(rule, tested), [])
    const row = '| memory.write | write.test.ts |'
    assert.deepEqual(
      locations(rule, { [contract]: declared, 'test/acceptance/COVERAGE.md': row }),
      [],
    )
    assert.deepEqual(untested(['a.b', 'a.bc'], ["'a.b'"], '| `x.y` |'), ['a.bc'])
  })
})

describe('texts', () => {
  test('no text holds a path of one machine or the address of a registry', () => {
    const path = ['', 'home', 'someone', 'custos'].join('/')
    assert.deepEqual(locations('machine', { 'README.md': `see ${path}` }), ['README.md:1'])
    assert.deepEqual(locations('machine', { 'README.md': 'see docs/home/page.md' }), [])
    const lock = (url: string) => ({ 'package-lock.json': `{ "resolved": "${url}" }` })
    assert.equal(locations('machine', lock('https://example.org/a.tgz')).length, 1)
    assert.equal(locations('machine', lock('packages/cli')).length, 0)
    assert.equal(locations('machine', { '.npmrc': `${'regis'}try=https://example.org` }).length, 1)
  })

  test('the tiers of the architecture page are those of architecture.json', () => {
    const stale = '# A\n<!-- generated: tiers -->\nold\n<!-- /generated -->\nrest\n'
    assert.equal(locations('tier-page', { 'ARCHITECTURE.md': stale }).length, 1)
    const fresh = withTiers(stale, architecture)
    assert.deepEqual(locations('tier-page', { 'ARCHITECTURE.md': fresh }), [])
    assert.match(fresh, /`gcrumbs`/)
    assert.match(fresh, /rest\n$/)
    assert.equal(locations('tier-page', { 'ARCHITECTURE.md': '# no markers' }).length, 1)
  })
})

test('architecture.json gives each zone its own path and each exemption a reason', () => {
  const paths = architecture.zones.map(({ path }) => path)
  assert.equal(new Set(paths).size, paths.length)
  const names = new Set(architecture.zones.map(({ name }) => name))
  for (const { zones } of architecture.zones) for (const zone of zones) assert(names.has(zone))
  for (const { reason } of architecture.exemptions) assert.match(reason, /\w+ \w+ \w+/)
})
