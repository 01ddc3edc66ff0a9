// The model of a disk that loses power: what it keeps, and that it does lose the rest.

import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Call, cutPower, type Survival } from './testing/power-cut.ts'
import { seeded } from './testing/random.ts'
import { tempDirectory } from './testing/temp-directory.ts'

function openFiles(t: TestContext) {
  const dir = tempDirectory(t)
  const [base, under] = [join(dir, 'base'), join(dir, 'files')]
  mkdirSync(base)
  writeFileSync(join(base, 'a'), 'x'.repeat(1_024))
  const random = seeded(7)
  const cut = (calls: readonly Call[], survival: Survival) =>
    cutPower(base, under, { calls, random, survival })
  const call = (kind: Call['kind'], name: string, bytes = '', offset = 0): Call => ({
    kind,
    path: join(under, name),
    offset,
    bytes: Buffer.from(bytes),
  })
  const read = (name: string) => readFileSync(join(under, name), 'utf8')
  return { cut, call, read, under, base }
}

test('what was flushed survives, and what was not is lost or in parts', (t) => {
  const { cut, call, read } = openFiles(t)
  const calls = [
    call('write', 'a', 'y'.repeat(512)),
    call('flush', 'a'),
    call('write', 'a', 'z'.repeat(1_024)),
  ]
  cut(calls, 'nothing')
  assert.equal(read('a'), 'y'.repeat(512) + 'x'.repeat(512))
  cut(calls, 'everything')
  assert.equal(read('a'), 'z'.repeat(1_024))
  const seen = new Set<string>()
  for (let i = 0; i < 50; i += 1) {
    cut(calls, 'some')
    seen.add(`${read('a')[0]}${read('a')[512]}`)
  }
  assert.deepEqual([...seen].sort(), ['yx', 'yz', 'zx', 'zz'])
})

test('a name survives when its directory was flushed, a content when its file was', (t) => {
  const { cut, call, read, under } = openFiles(t)
  const made = [call('create', 'b'), call('write', 'b', 'new'), call('flush', 'b')]
  cut(made, 'nothing')
  assert.ok(!existsSync(join(under, 'b')))
  const renamed = [
    ...made,
    call('rename', 'b', join(under, 'a')),
    { ...call('flush', ''), path: under },
  ]
  cut(renamed, 'nothing')
  assert.equal(read('a'), 'new')
  assert.ok(!existsSync(join(under, 'b')))
  cut(renamed.slice(0, -1), 'nothing')
  assert.equal(read('a'), 'x'.repeat(1_024))
  cut([call('remove', 'a')], 'everything')
  assert.ok(!existsSync(join(under, 'a')))
  cut([call('truncate', 'a', '', 10), call('flush', 'a')], 'nothing')
  assert.equal(read('a'), 'x'.repeat(10))
})
