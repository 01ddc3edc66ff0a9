// Declared limits of items, at the edge and beyond it.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { limits } from '@custos/contract'
import type { TestService } from '../../../packages/server/src/testing/harness.ts'
import { startContractService } from './testing/payments.ts'
import { newTenant, type Tenant } from './testing/tenant.ts'

let service: TestService
let tenant: Tenant

before(async () => {
  service = await startContractService()
  tenant = await newTenant(service)
})
after(() => service.stop())

interface ItemEdge {
  readonly limit: string
  readonly id: string
  readonly body: (n: number) => object
  readonly min?: number
  readonly max: number
}

const named = (more: object) => ({ namespace: ['limits'], key: 'k', ...more })
/** A value whose JSON has that many bytes. */
const valueWith = (bytes: number) => ({ a: 'x'.repeat(bytes - 8) })

const EDGES: readonly ItemEdge[] = [
  {
    limit: 'item_namespace_labels',
    id: 'items.get',
    body: (n) => named({ namespace: Array(n).fill('a') }),
    max: limits.item_namespace_labels,
  },
  {
    limit: 'item_key_chars',
    id: 'items.get',
    body: (n) => named({ key: 'k'.repeat(n) }),
    min: 1,
    max: limits.item_key_chars,
  },
  {
    limit: 'item_index_paths',
    id: 'items.put',
    body: (n) => named({ value: {}, index: Array(n).fill('title') }),
    max: limits.item_index_paths,
  },
  {
    limit: 'item_batch_operations',
    id: 'items.batch',
    body: (n) => ({ operations: Array(n).fill({ op: 'namespaces' }) }),
    max: limits.item_batch_operations,
  },
  {
    limit: 'item_search',
    id: 'items.search',
    body: (n) => ({ namespace_prefix: [], limit: n }),
    min: limits.item_search.min,
    max: limits.item_search.max,
  },
  {
    limit: 'content_bytes',
    id: 'items.put',
    body: (n) => named({ value: valueWith(n) }),
    max: limits.content_bytes,
  },
]

for (const { limit, id, body, min, max } of EDGES)
  test(`${id} keeps ${limit} to the unit`, async () => {
    const ask = (n: number) => tenant.ask(id, { params: { store_id: 'default' }, body: body(n) })
    for (const n of [...(min === undefined ? [] : [min]), max - 1, max]) {
      const { status, text } = await ask(n)
      assert.equal(status, 200, `${n}: ${text.slice(0, 200)}`)
    }
    for (const n of [...(min === undefined ? [] : [min - 1]), max + 1]) {
      const { status, text } = await ask(n)
      assert.equal(status, 422, `${n}: ${text.slice(0, 200)}`)
    }
  })
