// Requests that are refused for what their words say, and which of these words the answers repeat.

import assert from 'node:assert/strict'
import type { Canaries } from './canaries.ts'
import { answered, marks, type SendParts } from './send-parts.ts'

interface Case {
  readonly name: string
  readonly path: string
  readonly body: unknown
}

/** By case the places whose words stand in the refusal; cases that repeat none are left out. */
export async function repeatedInRefusals(
  parts: Pick<SendParts, 'client' | 'canaries'>,
): Promise<Record<string, string[]>> {
  const { client, canaries } = parts
  const repeated: Record<string, string[]> = {}
  await registerAction(parts)
  for (const { name, path, body } of casesOf(parts.canaries)) {
    const { status, text } = await client.ask('POST', path, { body })
    assert.ok(status === 422, `${name}: ${status} ${text}`)
    const found = canaries.foundIn(text)
    if (found.length > 0) repeated[name] = found
  }
  return repeated
}

const ACTION = 'weigh'

async function registerAction(parts: Pick<SendParts, 'client'>): Promise<void> {
  const properties = { amount: { type: 'number' } }
  const input_schema = { type: 'object', properties, additionalProperties: false }
  const spec = { required_trust_tier: 'untrusted', input_schema }
  const body = { kind: 'action', name: ACTION, spec }
  await answered(parts, { status: 201, path: '/v1/world-model/types' }, { body })
}

const casesOf = (canaries: Canaries): Case[] => [
  ...compositions(canaries),
  ...corpora(canaries),
  ...worldModel(canaries),
  ...others(canaries),
]

function compositions(canaries: Canaries): Case[] {
  const { text } = marks({ canaries }, 'compositions.compose')
  const member = (license: string, certified = true, ref_id = text('body.members[].ref_id')) => ({
    ...{ ref_id, license, certified },
  })
  const license = () => text('body.members[].license')
  const ref_id = text('body.members[].ref_id')
  const of = (name: string, members: object[]): Case => ({
    name: `compositions.compose: ${name}`,
    path: '/v1/compositions',
    body: {
      composition_kind: 'stack',
      members,
      target_ref: text('body.target_ref'),
      authority: { human_principal: 'ana', trust_tier: 'verified' },
    },
  })
  return [
    of('a member that is not certified', [member(license(), false)]),
    of('a member twice', [member(license(), true, ref_id), member(license(), true, ref_id)]),
    of('licences in conflict', [member('GPL-2.0-only'), member('Apache-2.0')]),
  ]
}

function corpora(canaries: Canaries): Case[] {
  const { text, json } = marks({ canaries }, 'provenance.register')
  const id = text('body.sources[].id')
  const source = () => ({ id, license: text('body.sources[].license') })
  const attestations = { representativeness: 'by region', bias_examination: 'done' }
  const of = (name: string, sources: object[], more = {}): Case => ({
    name: `provenance.register: ${name}`,
    path: '/v1/provenance/corpora',
    body: { name: text('body.name'), sources, attestations, ...more },
  })
  return [
    of('a source without a ground', [{ id }]),
    of('a source twice', [source(), source()]),
    of('no attestations', [source()], { attestations: json('body.attestations') }),
  ]
}

function worldModel(canaries: Canaries): Case[] {
  const { word } = marks({ canaries }, 'world_model.register_type')
  const spec = () => word('body.spec{}')
  const type = (name: string, kind: string, given: object): Case => ({
    name: `world_model.register_type: ${name}`,
    path: '/v1/world-model/types',
    body: { kind, name: 'Shipment', spec: given },
  })
  const tier = spec()
  const { word: param, text } = marks({ canaries }, 'world_model.invoke')
  const call = (name: string, more: object): Case => ({
    name: `world_model.invoke: ${name}`,
    path: '/v1/world-model/actions/invoke',
    body: { action_name: ACTION, subject_refs: [], params: {}, ...more },
  })
  const type_of = { type: text('body.subject_refs[].type'), ref: text('body.subject_refs[].ref') }
  return [
    type('another type of value', 'object', { properties: { weight: { type: spec() } } }),
    type('a keyword that is none', 'object', { type: 'object', [spec()]: spec() }),
    type('a format that is none', 'object', { type: 'object', format: spec() }),
    type('a reference to nothing', 'object', { type: 'object', $ref: `#/$defs/${spec()}` }),
    type('ends that are not there', 'link', { from_type: spec(), to_type: spec() }),
    type('a tier that is none', 'action', { required_trust_tier: tier }),
    call('a subject of no type', { subject_refs: [type_of] }),
    call('a value of another type', { params: { amount: param('body.params{}') } }),
    call('a parameter that is none', { params: { [param('body.params{}')]: 1 } }),
  ]
}

function others(canaries: Canaries): Case[] {
  const landing = marks({ canaries }, 'landing.issue')
  const check = landing.word('body.conformance.per_policy{}')
  const issue = (name: string, per_policy: object): Case => ({
    name: `landing.issue: ${name}`,
    path: '/v1/landing/issue',
    body: {
      ...{ artifact_ref: landing.text('body.artifact_ref'), base_model_ref: 'base' },
      layer_hashes: ['a'.repeat(64)],
      data_provenance: { merkle_root: '5'.repeat(64) },
      authority: { delegation_ref: 'd-1', human_principal: 'ana', trust_tier: 'verified' },
      conformance: { result: 'pass', per_policy },
      permitted_actions: [],
    },
  })
  const enroll = marks({ canaries }, 'approvals.enroll')
  const decide = marks({ canaries }, 'cgr.decide')
  const agent_key = '0'.repeat(64)
  return [
    issue('a check that is claimed to fail', { [check]: 'fail' }),
    issue('a check with a result that is none', { [check]: [check] }),
    {
      name: 'approvals.enroll: a key that proves nothing',
      path: '/v1/hitl/approvers',
      body: { name: enroll.text('body.name'), public_key: agent_key },
    },
    {
      name: 'cgr.decide: a key that proves nothing',
      path: '/v1/governed/decisions',
      body: { decision: 'certify', agent_handle: decide.text('body.agent_handle'), agent_key },
    },
  ]
}
