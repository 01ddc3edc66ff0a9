// For every refusal an operation of the artifact registry declares, a request that provokes it.

import type { World } from '../world.ts'
import { askWith, decidingCases, type Provoke, underLimit, underPolicy } from './provoke.ts'

async function asker({ tenant, ids }: World): Promise<string> {
  const { requested_by } = await tenant.ok('artifacts.get', {
    params: { artifact_id: ids.waiting_artifact_id },
  })
  return requested_by
}

/** Cases by `operation code`. */
export const provokingArtifacts: Readonly<Record<string, Provoke>> = {
  ...decidingCases({
    approve: 'artifacts.approve',
    reject: 'artifacts.reject',
    gate: 'artifacts.register',
    waiting: ({ ids }) => ids.waiting_artifact_id,
    asker,
  }),
  'artifacts.register policy_denied': underPolicy(
    'artifacts.register',
    'artifacts.register',
    'deny',
  ),
  'artifacts.register rate_limited': underLimit('artifacts.register', 'artifacts.register'),
  'artifacts.list rejected': ({ tenant }) =>
    tenant.ask('artifacts.list', { query: { cursor: 'not-a-cursor' } }),
  'artifacts.certify landing_not_found': (world) =>
    askWith(world, 'artifacts.certify', { certificate_id: 'f'.repeat(32) }),
  'artifacts.certify rejected': (world) =>
    askWith(world, 'artifacts.certify', { certificate_id: world.ids.landing_waiting_id }),
  'artifacts.certify wrong_state': async (world) => {
    const { tenant, word } = world
    // Registered and waiting: a certificate of the same artifact does not make it registered.
    const { body } = await tenant.ask('artifacts.get', {
      params: { artifact_id: world.ids.waiting_artifact_id },
    })
    const { artifact_ref, base_model_ref, kind, layer_hashes } = body
    const issued = await tenant.ok('landing.issue', {
      body: {
        ...{ artifact_ref, base_model_ref, kind, layer_hashes },
        data_provenance: { merkle_root: '5'.repeat(64) },
        authority: { delegation_ref: word, human_principal: word, trust_tier: 'verified' },
        conformance: { result: 'pass' },
        permitted_actions: ['answer'],
      },
    })
    return tenant.ask('artifacts.certify', {
      params: { artifact_id: world.ids.waiting_artifact_id },
      body: { certificate_id: issued.certificate_id },
    })
  },
}
