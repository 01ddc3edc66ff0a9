// Landing certificates of a tenant: one that was issued, and one that waits for a person.

import { letWait } from './approval.ts'
import type { Tenant } from './tenant.ts'

/** Conforms as far as anybody can see; of an artifact and a corpus nobody registered. */
export const landingRequest = (artifact_ref: string, word = 'Ana') => ({
  artifact_ref,
  base_model_ref: 'models/base-7b',
  layer_hashes: [`sha256:${'a1'.repeat(32)}`, 'b2'.repeat(32)],
  data_provenance: { merkle_root: '5'.repeat(64), sources: [word], note: word },
  authority: { delegation_ref: word, human_principal: word, trust_tier: 'verified' },
  conformance: { result: 'pass', harness_version: word, note: word },
  permitted_actions: ['answer', word],
})

export async function askLanding(tenant: Tenant, word: string) {
  const { artifact_ref, base_model_ref, layer_hashes } = landingRequest(`${word}/issued`, word)
  const layers = layer_hashes.map((digest) => ({ digest }))
  const registered = { artifact_ref, base_model_ref, layers, metadata: { owner: word } }
  const { artifact_id } = await tenant.ok('artifacts.register', { body: registered })
  const issued = await tenant.ok('landing.issue', {
    body: landingRequest(`${word}/issued`, word),
  })
  const body = landingRequest(`${word}/waiting`, word)
  const request_id = await letWait(tenant, { id: 'landing.issue', gate: 'landing.issue', body })
  const { record_id } = await tenant.ok('approvals.request', { params: { request_id } })
  return { artifact_id, landing_id: issued.certificate_id, landing_waiting_id: record_id }
}
