// For every refusal an operation of items declares, a request that provokes it.

import { exampleOf } from '../../examples.ts'
import type { Sent } from '../table.ts'
import type { Provoke } from './provoke.ts'

export const ITEM_OPERATIONS = [
  'items.put',
  'items.get',
  'items.search',
  'items.delete',
  'items.namespaces',
  'items.batch',
]

export const NAME = { body: { namespace: ['refused'], key: 'k' } } satisfies Sent
const put = { ...NAME.body, value: { n: 1 } }
export const PUT: Sent = { body: put }
export const BATCH: Sent = { body: { operations: [{ op: 'put', ...put }] } }

const asking =
  (id: string, body: unknown): Provoke =>
  ({ tenant, ids }) =>
    tenant.ask(id, { params: { store_id: ids.store_id }, body })

/** A name that a policy redacts. */
const redacted =
  (id: string, body: unknown): Provoke =>
  async (world) => {
    const config = { patterns: ['[0-9]{9}'], check_fields: ['metadata'], redact: true }
    await world.tenant.ok('governance.create_policy', {
      body: { name: 'no numbers', policy_type: 'pii_guard', action: 'log_only', config },
    })
    return asking(id, body)(world)
  }

const held =
  (id: string, body: (sent: Sent) => unknown): Provoke =>
  async (world) => {
    const { tenant, ids } = world
    const params = { store_id: ids.store_id }
    await tenant.ok('retention.place_hold', { params, body: { reason: 'a dispute' } })
    return asking(id, body(exampleOf('items.delete', ids)))(world)
  }

const numbered = { ...put, key: '123456789' }
const changed = { ...put, if_ref: 1 }
const inBatch = (one: object) => ({ operations: [{ op: 'put', ...one }] })

/** Cases by `operation code`. */
export const provokingItems: Readonly<Record<string, Provoke>> = {
  'items.put rejected': redacted('items.put', numbered),
  'items.batch rejected': redacted('items.batch', inBatch(numbered)),
  'items.put item_changed': asking('items.put', changed),
  'items.batch item_changed': asking('items.batch', inBatch(changed)),
  'items.delete legal_hold': held('items.delete', ({ body }) => body),
  'items.batch legal_hold': held('items.batch', ({ body }) => ({
    operations: [{ ...Object(body), op: 'delete' }],
  })),
}
