// The files that `npm test` runs on PostgreSQL call every query that all of them call.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { POSTGRES_FILES, ROOT } from './files.ts'
import { coveringFiles, listQueries } from './queries.ts'

test('queries are listed by file and name, functions and arrow functions', () => {
  const queries = listQueries()
  assert.ok(queries.length > 300)
  assert.ok(queries.every((query) => existsSync(join(ROOT, query.split(' ')[0] ?? ''))))
})

test('the chosen files call every query, and a cheaper file goes before a dearer one', () => {
  const [first = '', second = '', third = ''] = listQueries()
  const called = new Map([
    [first, new Set(['all', 'cheap'])],
    [second, new Set(['all', 'cheap'])],
    [third, new Set(['all', 'dear'])],
  ])
  const seconds = new Map([
    ['all', 60],
    ['cheap', 1],
    ['dear', 2],
  ])
  assert.deepEqual(coveringFiles(called, seconds), ['cheap', 'dear'])
})

test('every file that is listed for PostgreSQL exists', () => {
  const files: string[] = JSON.parse(readFileSync(POSTGRES_FILES, 'utf8'))
  assert.deepEqual(
    files.filter((path) => !existsSync(join(ROOT, path))),
    [],
  )
})
