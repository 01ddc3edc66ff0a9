// ARCHITECTURE.md names files that exist, and each of its walks fits in five of them.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '..', '..')
const SOURCES = join(ROOT, 'packages', 'server', 'src')
const page = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8')
const WALK = /<!-- walk: (\w+) -->([\s\S]*?)<!-- \/walk -->/g
const FILES_MAX = 5
const STEPS_MAX = 8

const filesIn = (text: string): string[] =>
  [...text.matchAll(/`((?:app|http|platform|slices)\/[\w./-]+)`/g)].map(([, path = '']) => path)

test('every file and folder that ARCHITECTURE.md names exists', () => {
  const names = filesIn(page)
  assert.ok(names.length > 10)
  assert.deepEqual(
    names.filter((path) => !existsSync(join(SOURCES, path))),
    [],
  )
})

test('a newcomer follows a retrieval and an erasure in five files, in eight steps at most', () => {
  const walks = [...page.matchAll(WALK)]
  assert.deepEqual(
    walks.map(([, name]) => name),
    ['retrieve', 'erase'],
  )
  for (const [, name, text = ''] of walks) {
    const files = new Set(filesIn(text).filter((path) => path.endsWith('.ts')))
    assert.ok(files.size <= FILES_MAX, `${name}: ${[...files]}`)
    assert.ok((text.match(/^\d\. /gm) ?? []).length <= STEPS_MAX, name)
  }
})
