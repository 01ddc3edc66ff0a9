// An operation that clients may repeat without asking changes nothing: every GET, and the POSTs
// that are marked as safe.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { OPERATIONS } from '@custos/client/operations'
import type { OperationSpec } from '@custos/contract'
import type { TestService } from '../../../packages/server/src/testing/harness.ts'
import { exampleOf } from './examples.ts'
import { startContractService } from './testing/payments.ts'
import { rowDigests } from './testing/rows.ts'
import { operations } from './testing/table.ts'
import { send } from './testing/tenant.ts'
import { buildWorld, type World } from './testing/world.ts'

/** Another POST becomes safe here too, after somebody read what it does. */
const SAFE_POSTS = [
  'artifacts.integrity',
  'gcrumbs.verify_envelope',
  'identity.test',
  'items.get',
  'items.namespaces',
  'items.search',
  'landing.conformance',
  'memory.flush',
  'memory.retrieve',
  'world_model.validate_link',
  'world_model.validate_object',
]

/** A bundle ends in a signed checkpoint, made if the newest one is older than the run. */
const BY_ITSELF: Readonly<Record<string, string>> = {
  'orchestrator.bundle': 'epochs',
  'orchestrator.verify': 'epochs',
  'workflows.verify_chain': 'epochs',
}

let service: TestService
let world: World
/** As the operation before left them. */
let digests: Record<string, string>

before(async () => {
  service = await startContractService()
  world = await buildWorld(service)
  digests = await rowDigests(service)
})

after(() => service.stop())

/** Sends the example of an operation; the tables whose rows it changed. */
async function changedBy({ id, access, status }: OperationSpec): Promise<string[]> {
  const key = access === 'operator' ? service.operator_key : world.tenant.api_key
  const found = digests
  const answer = await send(
    service,
    id,
    exampleOf(id, world.ids),
    access === 'public' ? {} : { key },
  )
  assert.equal(answer.status, status, answer.text)
  digests = await rowDigests(service)
  return Object.keys(digests).filter((table) => digests[table] !== found[table])
}

test('the safe operations that are no GET are those that were looked at', () => {
  const marked = operations.filter(({ safe }) => safe)
  assert.deepEqual(marked.map(({ id }) => id).sort(), SAFE_POSTS)
  for (const { id, method } of marked) assert.equal(method, 'POST', id)
})

test('the client repeats the POSTs that are safe or keyed, and no other', () => {
  const repeated = OPERATIONS.map(Object).filter(
    ({ method, safe, idempotent }) => method === 'POST' && (safe || idempotent),
  )
  const allowed = operations.filter(
    ({ method, safe, idempotent }) => method === 'POST' && (safe || idempotent),
  )
  assert.deepEqual(repeated.map(({ id }) => id).sort(), allowed.map(({ id }) => id).sort())
})

// A timer looks after the runs of a tenant meanwhile, and notes when it looks again: `runs`.
describe('a safe operation changes no row', () => {
  // What leads a browser on to sign in has an effect, and a browser can only GET it.
  const leads = ({ status }: OperationSpec) => status === 302
  const marked = operations.filter(({ method, safe }) => method === 'GET' || safe)
  for (const operation of marked.filter((one) => !leads(one)))
    test(operation.id, async () => {
      const changed = await changedBy(operation)
      assert.deepEqual(
        changed.filter((table) => table !== 'runs' && table !== BY_ITSELF[operation.id]),
        [],
      )
    })
})

test('the digests see the change of a value', async () => {
  const update = operations.find(({ id }) => id === 'governance.update_policy')
  assert.ok(update)
  assert.ok((await changedBy(update)).includes('policies'))
})
