// Names of operations: aliases, prefixes, and a typo that is refused with a hint.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as contract from '@custos/contract'
import { KNOWN_OPERATIONS, OPERATION_ALIASES } from '@custos/contract'
import { currentName, findNameProblem, storedName } from './operation-names.ts'

const OF_AGENTS = ['inference', 'tool_execution', 'output_check']

test('what the service gates has the name of its operation in the contract', () => {
  const groups = Object.values(contract).flatMap((group) =>
    typeof group === 'object' && group !== null ? Object.values(group) : [],
  )
  const ids = new Set(
    groups.flatMap((one) => (typeof one === 'object' && one && 'id' in one ? [one.id] : [])),
  )
  const unknown = KNOWN_OPERATIONS.filter((name) => !ids.has(name) && !OF_AGENTS.includes(name))
  assert.deepEqual(unknown, [])
})

test('known names, their aliases and prefixed names are accepted', () => {
  const names = [...KNOWN_OPERATIONS, ...Object.keys(OPERATION_ALIASES)]
  for (const name of [...names, 'worldmodel.action.pay', 'custom.deploy'])
    assert.equal(findNameProblem(name), null, name)
  assert.equal(currentName('artifact.register'), 'artifacts.register')
  assert.equal(currentName('custom.artifact.register'), 'custom.artifact.register')
})

test('a typo is refused, and the name that was meant is suggested', () => {
  const meant: Readonly<Record<string, string>> = {
    'memory.wirte': 'memory.write',
    'Memory.Write': 'memory.write',
    'artifact.regster': 'artifacts.register',
    'decisions.logs': 'decisions.log',
  }
  for (const [typo, name] of Object.entries(meant))
    assert.match(findNameProblem(typo) ?? '', new RegExp(`did you mean \`${name}\``), typo)
  for (const other of ['deploy', 'custom.', 'worldmodel.action.', 'constructor'])
    assert.match(findNameProblem(other) ?? '', /^is not an operation of policy-types; names/)
})

test('a policy stored before names were checked applies to the prefixed name', () => {
  assert.equal(storedName('deploy'), 'custom.deploy')
  assert.equal(storedName('composition.govern'), 'compositions.compose')
  assert.equal(storedName('custom.deploy'), 'custom.deploy')
})
