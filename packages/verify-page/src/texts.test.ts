// The words of the page, against the names that the verifier gives to its checks.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkText, kindText } from './texts.ts'

const PROOF = join(import.meta.dirname, '../../proof/src')

test('every check of the verifier has words of its own on the page', () => {
  const sources = globSync('**/*.ts', { cwd: PROOF })
  const code = sources.map((path) => readFileSync(join(PROOF, path), 'utf8')).join('\n')
  const names = [...code.matchAll(/addCheck\(\s*findings,\s*'(\w+)'/g)].map(([, name]) => `${name}`)
  assert.ok(names.includes('nothing_open'))
  for (const name of [...names, 'approval_valid', 'agent_action_valid', 'certificate_valid'])
    assert.notEqual(checkText(name), name.replaceAll('_', ' '), name)
  for (const kind of ['run', 'tenant_move'])
    assert.notEqual(kindText(kind), kind.replaceAll('_', ' '))
})
