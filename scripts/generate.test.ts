// Generated files are committed exactly as `npm run generate` writes them.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { ERRORS, generatedFiles } from './generate/outputs.ts'

const ROOT = join(import.meta.dirname, '..')
const files = await generatedFiles()

test('every generated file is what `npm run generate` writes', () => {
  for (const [path, text] of files)
    assert.equal(readFileSync(join(ROOT, path), 'utf8'), text, `${path}: run npm run generate`)
})

test('every refusal has a page, and every page in docs/errors belongs to a refusal', () => {
  const pages = readdirSync(join(ROOT, ERRORS)).map((name) => `${ERRORS}/${name}`)
  assert.deepEqual(
    pages.filter((path) => !files.has(path)),
    [],
  )
})
