// For every refusal a request of a data subject declares, a request that provokes it.

import { exampleOf } from '../../examples.ts'
import { GHOSTS, type World } from '../world.ts'
import { exhaust, type Provoke } from './provoke.ts'

const ofNone = (id: string): [string, Provoke] => [
  `${id} subject_request_not_found`,
  ({ tenant }) => tenant.ask(id, exampleOf(id, GHOSTS)),
]

const asking =
  (id: string, body: object): Provoke =>
  ({ tenant }) =>
    tenant.ask(id, { body })

const FIND = { text: 'nobody at all' }
const ANY = { expect_digest: 'f'.repeat(64) }
const NO_STORE = { find: FIND, store_ids: [GHOSTS.store_id] }

/** An erasure that finds something, under a policy that holds deletions up. */
const gated =
  (action: 'deny' | 'escalate'): Provoke =>
  async ({ tenant, word }: World) => {
    const config = { operations: ['memory.delete'] }
    await tenant.ok('governance.create_policy', {
      body: { name: 'a gate', policy_type: 'hitl_required', action, config },
    })
    return tenant.ask('subjects.erase', { body: { find: { text: word }, ...ANY } })
  }

/** Cases by `operation code`. */
export const provokingSubjects: Readonly<Record<string, Provoke>> = {
  ...Object.fromEntries(['subjects.get', 'subjects.extend', 'subjects.manifest'].map(ofNone)),
  'subjects.erase rejected': asking('subjects.erase', { find: {}, ...ANY }),
  'subjects.access rejected': asking('subjects.access', { find: { metadata: {} } }),
  'subjects.erase store_not_found': asking('subjects.erase', { ...NO_STORE, ...ANY }),
  'subjects.access store_not_found': asking('subjects.access', NO_STORE),
  'subjects.erase subject_changed': asking('subjects.erase', { find: FIND, ...ANY }),
  'subjects.erase policy_denied': gated('deny'),
  'subjects.erase approval_required': gated('escalate'),
  'subjects.erase rate_limited': async (world) => {
    await exhaust(world, 'memory.delete')
    return world.tenant.ask('subjects.erase', { body: { find: { text: world.word }, ...ANY } })
  },
  'subjects.list rejected': ({ tenant }) =>
    tenant.ask('subjects.list', { query: { cursor: 'not-a-cursor' } }),
  'subjects.extend wrong_state': ({ tenant, ids }) =>
    tenant.ask('subjects.extend', {
      params: { request_id: ids.subject_id },
      body: { reason: 'too late' },
    }),
  'subjects.manifest wrong_state': ({ tenant, ids }) =>
    tenant.ask('subjects.manifest', { params: { request_id: ids.open_subject_id } }),
}
