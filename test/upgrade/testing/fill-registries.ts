// A record in each of the registries, and an agent's reputation.

import { AGENT, linkOf, provenBy, REPORTER, reportedBy, SUCCESSOR } from './agent-keys.ts'
import type { Client } from './client.ts'

const LAYERS = ['a1'.repeat(32), 'b2'.repeat(32)]
const AUTHORITY = { delegation_ref: 'd-1', human_principal: 'ana', trust_tier: 'verified' }
const ARTIFACT = { artifact_ref: 'adapters/ward', base_model_ref: 'models/base-7b' }

export async function fillRegistries(client: Client) {
  const corpus = await client.post('/v1/provenance/corpora', {
    name: 'ward mails',
    sources: [
      { id: 'mails-2024', license: 'CC-BY-4.0', record_count: 12 },
      { id: 'mails-2025', lawful_basis: 'contract', team: 'blue' },
    ],
    attestations: { representativeness: 'by ward', bias_examination: 'in 2025' },
    processing: ['deduplicated'],
  })
  const corpus_id = String(corpus.corpus_id)
  const artifact = await client.post('/v1/artifacts/register', {
    ...ARTIFACT,
    layers: LAYERS.map((digest) => ({ digest: `sha256:${digest}` })),
    metadata: { license: 'MIT' },
  })
  const landing = await client.post('/v1/landing/issue', {
    ...ARTIFACT,
    layer_hashes: LAYERS,
    data_provenance: await client.get(`/v1/provenance/corpora/${corpus_id}/block`),
    authority: AUTHORITY,
    conformance: { result: 'pass', harness_version: 'own/1' },
    permitted_actions: ['answer'],
  })
  const composition = await client.post('/v1/compositions', {
    composition_kind: 'stack',
    members: [
      { ref_id: artifact.artifact_id, license: 'MIT', certified: true },
      { ref_id: 'models/base', license: 'Apache-2.0', certified: true },
    ],
    target_ref: 'stacks/ward',
    authority: AUTHORITY,
  })
  return {
    corpus_id,
    artifact_id: String(artifact.artifact_id),
    landing_id: String(landing.certificate_id),
    composition_id: String(composition.composition_id),
    ...(await fillWorldModel(client)),
  }
}

export const INVOCATION = {
  action_name: 'certify',
  subject_refs: [{ type: 'Invoice', ref: 'INV-1' }],
  params: { amount: 12.5, note: 'as seen' },
  authority: AUTHORITY,
}

async function fillWorldModel(client: Client) {
  const register = async (kind: string, name: string, spec: object): Promise<string> =>
    (await client.post('/v1/world-model/types', { kind, name, spec })).type_id
  const types = [
    await register('object', 'Client', { properties: {} }),
    await register('object', 'Invoice', {
      properties: { invoice_ref: { type: 'string', required: true }, amount: { type: 'number' } },
    }),
    await register('link', 'owns', { from_type: 'Client', to_type: 'Invoice' }),
    await register('action', 'certify', {
      operation: 'worldmodel.action.certify',
      required_trust_tier: 'basic',
      subject_type: 'Invoice',
      input_schema: { amount: { type: 'number', required: true }, note: { type: 'string' } },
    }),
  ]
  const { action_id } = await client.post('/v1/world-model/actions/invoke', INVOCATION)
  return { types, action_id: String(action_id) }
}

export const HANDLE = 'certifier@ward'
const REVIEWER = 'reviewer@ward'

/** A key that proves what it decides and is followed by another, and an agent without a key. */
export async function fillReputation(client: Client, tenant_id: string) {
  for (const [i, outcome] of ['paid', 'paid', 'default', 'late', null].entries()) {
    const invoice_id = `INV-${i}`
    await decideProven(client, tenant_id, i)
    if (i > 2) await review(client, invoice_id, 0.75)
    if (outcome === null) continue
    const signed_at = `2026-02-0${i + 1}T00:00:00.000000Z`
    const reported = { tenant_id, invoice_ref: invoice_id, outcome, signed_at }
    const proof = reportedBy(REPORTER, reported)
    await client.post('/v1/governed/outcomes', { invoice_ref: invoice_id, outcome, ...proof })
  }
  await client.post('/v1/governed/decisions', {
    ...{ decision: 'certify', invoice_id: 'INV-9', reason: 'by hand', agent_handle: 'clerk@ward' },
  })
  await client.post('/v1/governed/outcomes/bulk', [{ invoice_ref: 'INV-9', outcome: 'paid' }])
  await client.post('/v1/cgr/rotation', linkOf(AGENT, SUCCESSOR))
  await client.post('/v1/cgr/attestations', { agent_handle: HANDLE })
}

const review = (client: Client, invoice_ref: string, rating: number) =>
  client.post('/v1/governed/reviews', { invoice_ref, reviewer_handle: REVIEWER, rating })

function decideProven(client: Client, tenant_id: string, i: number, key = AGENT) {
  const invoice_id = `INV-${i}`
  const decision = 'certify' as const
  const signed_at = `2026-01-01T00:00:0${i}.000000Z`
  const judged = { tenant_id, agent_handle: HANDLE, decision, invoice_id, signed_at }
  return client.post('/v1/governed/decisions', {
    ...{ decision, invoice_id, agent_handle: HANDLE, reason: 'the amounts agree' },
    context: { amount: 12 },
    ...provenBy(key, judged),
  })
}

/** By the key that followed: it goes on with the record of the first. */
export const decideAsSuccessor = (client: Client, tenant_id: string) =>
  decideProven(client, tenant_id, 7, SUCCESSOR)
