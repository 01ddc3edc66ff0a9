// Registries whose records wait: each is found by its kind.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventPayloads } from '@custos/contract'
import { RECORD_KINDS } from '@custos/proof'
import { registryOf } from './approval-requests.ts'

for (const kind of RECORD_KINDS) {
  const waits = Object.hasOwn(eventPayloads, `${kind}.waiting_hitl`)
  test(`a ${kind} ${waits ? 'can be decided by an approver' : 'never waits'}`, () => {
    if (!waits) return assert.throws(() => registryOf(kind), /never waits/)
    const registry = registryOf(kind)
    assert.deepEqual([registry.kind, registry.approvable], [kind, true])
  })
}
