// Writes the files that are generated from the code: `npm run generate` (openapi.json, docs/errors,
// docs/configuration.md, docs/commands.md, docs/trust.md).

import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ERRORS, generatedFiles } from './generate/outputs.ts'
import { requireNode } from './node-version.ts'

const ROOT = join(import.meta.dirname, '..')

requireNode()
const files = await generatedFiles()
mkdirSync(join(ROOT, ERRORS), { recursive: true })
for (const name of readdirSync(join(ROOT, ERRORS)))
  if (!files.has(`${ERRORS}/${name}`)) rmSync(join(ROOT, ERRORS, name))
for (const [path, text] of files) writeFileSync(join(ROOT, path), text)
console.log(`generate: ${files.size} files`)
