// For every refusal an operation of landing certificates declares, a request that provokes it.

import { PROVENANCE_BYTES_MAX } from '@custos/contract'
import { landingRequest } from '../landing.ts'
import { askWith, decidingCases, type Provoke, underLimit, underPolicy } from './provoke.ts'

const TOO_LONG = 'x'.repeat(PROVENANCE_BYTES_MAX)

/** Cases by `operation code`. */
export const provokingLanding: Readonly<Record<string, Provoke>> = {
  'landing.conformance rejected': ({ tenant }) => {
    const { artifact_ref, layer_hashes } = landingRequest('adapters/support')
    const data_provenance = { note: TOO_LONG }
    return tenant.ask('landing.conformance', {
      body: { artifact_ref, layer_hashes, data_provenance },
    })
  },
  'landing.issue rejected': ({ tenant }) =>
    tenant.ask('landing.issue', {
      body: { ...landingRequest('adapters/support'), authority: {} },
    }),
  'landing.issue policy_denied': underPolicy('landing.issue', 'landing.issue', 'deny'),
  'landing.issue rate_limited': underLimit('landing.issue', 'landing.issue'),
  'landing.list rejected': ({ tenant }) =>
    tenant.ask('landing.list', { query: { cursor: 'not-a-cursor' } }),
  ...decidingCases({
    approve: 'landing.approve',
    reject: 'landing.reject',
    gate: 'landing.issue',
    waiting: ({ ids }) => ids.landing_waiting_id,
    // The principal that the example of this tenant names.
    asker: ({ word }) => word,
  }),
  'landing.approve rejected': async (world) => {
    const artifact_ref = `${world.word}/waiting`
    const layers = [{ digest: 'f'.repeat(64) }]
    const body = { artifact_ref, base_model_ref: 'models/base-7b', layers }
    await world.tenant.ok('artifacts.register', { body })
    return askWith(world, 'landing.approve')
  },
}
