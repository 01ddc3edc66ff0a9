// What is generated is committed as it would be generated now.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { ERRORS, generatedFiles } from './generate/outputs.ts'

const ROOT = join(import.meta.dirname, '..')
const files = generatedFiles()

test('openapi.json and the error pages are what `npm run generate` writes', () => {
  for (const [path, text] of files)
    assert.equal(readFileSync(join(ROOT, path), 'utf8'), text, `${path}: run npm run generate`)
})

test('every refusal has a page, and no page is left of a refusal that is gone', () => {
  const pages = readdirSync(join(ROOT, ERRORS)).map((name) => `${ERRORS}/${name}`)
  assert.deepEqual(
    pages.filter((path) => !files.has(path)),
    [],
  )
})
