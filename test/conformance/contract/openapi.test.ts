// The published document lists every operation of the contract, and the service nothing else.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { refusals } from '@custos/contract'
import type { TestService } from '../../../packages/server/src/testing/harness.ts'
import { startContractService } from './testing/payments.ts'
import { operations } from './testing/table.ts'

let service: TestService

before(async () => {
  service = await startContractService()
})

after(() => service.stop())

interface Described {
  readonly operationId: string
  readonly 'x-access': string
  readonly 'x-scope'?: string
  readonly responses: Readonly<Record<string, unknown>>
}

test('/openapi.json describes each operation once, with its access and statuses', async () => {
  const { status, body } = await service.request('GET', '/openapi.json')
  assert.equal(status, 200)
  const paths: Record<string, Record<string, Described>> = body.paths
  const listed = Object.values(paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  )
  assert.deepEqual(listed.sort(), operations.map(({ id }) => id).sort())
  for (const operation of operations) {
    const described = paths[operation.path]?.[operation.method.toLowerCase()]
    assert.ok(described, operation.id)
    assert.equal(described.operationId, operation.id)
    assert.equal(described['x-access'], operation.access, operation.id)
    assert.equal(described['x-scope'], operation.scope, operation.id)
    assert.ok(described.responses[operation.status], operation.id)
    assert.ok(described.responses['default'], operation.id)
    for (const code of operation.refuses)
      assert.ok(described.responses[refusals[code].status], `${operation.id} ${code}`)
  }
})
