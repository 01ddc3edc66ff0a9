// Canaries through the world model: types, checks, actions; and through templates.

import assert from 'node:assert/strict'
import { answered, marks, refused, type SendParts, twice } from './send-parts.ts'
import { decideBoth, letDeny, letWait } from './waiting.ts'

const TYPES = '/v1/world-model/types'
const INVOKE = '/v1/world-model/actions/invoke'

export async function sendWorldModel(parts: SendParts): Promise<void> {
  await registerTypes(parts)
  await validate(parts)
  await invoke(parts)
  await installTemplate(parts)
}

/** A type without words of its own but the name. */
async function registerType(parts: SendParts, kind: string, name: string, spec: object) {
  const body = { kind, name, spec }
  const { type_id } = await answered(parts, { status: 201, path: TYPES }, { body })
  parts.made.kept.push({ type_id })
}

async function registerTypes(parts: SendParts): Promise<void> {
  const { text, word, headers } = marks(parts, 'world_model.register_type')
  const form = (name: string) => ({
    kind: 'object',
    name,
    spec: {
      properties: { [word('body.spec{}')]: { type: 'string', required: true } },
      description: text('body.spec{}'),
    },
  })
  const name = text('body.name')
  const sent = { body: form(name), headers: headers() }
  const { type_id } = await twice(parts, { status: 201, path: TYPES }, sent)
  const next = await answered(parts, { status: 201, path: TYPES }, { body: form(name) })
  assert.deepEqual([next.type_id, next.version], [type_id, 2])
  parts.made.kept.push({ type_id })
  await registerType(parts, 'object', text('body.name'), schemaOf(parts))
  const link = { from_type: name, to_type: name, description: text('body.spec{}') }
  await registerType(parts, 'link', text('body.name'), link)
  await registerType(parts, 'action', word('body.name'), {
    operation: text('body.spec{}'),
    required_trust_tier: 'basic',
    subject_type: name,
    input_schema: { [word('body.spec{}')]: { type: 'string' } },
  })

  const asked = { action: 'world_model.register_type', path: TYPES }
  await letDeny(parts, asked, { body: form(text('body.name')), headers: headers() })
  const spec = { properties: { weight: { type: word('body.spec{}') } } }
  await refused(parts, TYPES, { body: { kind: 'object', name: text('body.name'), spec } })
}

/** A JSON Schema with a word wherever one may stand. */
function schemaOf(parts: SendParts) {
  const { text, word } = marks(parts, 'world_model.register_type')
  const place = 'body.spec{}'
  const defined = word(place)
  return {
    type: 'object',
    title: text(place),
    description: text(place),
    properties: {
      [word(place)]: { enum: [word(place)], description: text(place) },
      place: { $ref: `#/$defs/${defined}` },
    },
    required: [word(place)],
    $defs: { [defined]: { const: word(place) } },
  }
}

async function validate(parts: SendParts): Promise<void> {
  const object = marks(parts, 'world_model.validate_object')
  const type_name = object.text('body.type_name')
  const properties = { amount: { type: 'number', required: true } }
  await registerType(parts, 'object', type_name, { properties })
  const instance = { amount: object.word('body.instance{}'), ...object.json('body.instance') }
  const path = '/v1/world-model/validate/object'
  const checked = await answered(parts, { status: 200, path }, { body: { type_name, instance } })
  assert.equal(checked.valid, false)
  assert.deepEqual(parts.canaries.foundIn(JSON.stringify(checked)), [])

  const link = marks(parts, 'world_model.validate_link')
  const ends = { from_type: link.text('body.from_type'), to_type: link.text('body.to_type') }
  for (const end of Object.values(ends)) await registerType(parts, 'object', end, { properties })
  const link_name = link.text('body.link_name')
  await registerType(parts, 'link', link_name, { ...ends, cardinality: 'one_to_one' })
  const [from_id, to_id] = [link.text('body.from_id'), link.text('body.to_id')]
  const existing = [
    { from_id, to_id: link.text('body.existing[].to_id') },
    { from_id: link.text('body.existing[].from_id'), to_id },
  ]
  const body = { link_name, ...ends, from_id, to_id, existing }
  const joined = await answered(
    parts,
    { status: 200, path: '/v1/world-model/validate/link' },
    { body },
  )
  assert.equal(joined.valid, false)
  assert.deepEqual(parts.canaries.foundIn(JSON.stringify(joined)), [])
}

async function invoke(parts: SendParts): Promise<void> {
  const { text, word, json, headers } = marks(parts, 'world_model.invoke')
  const subject_type = text('body.subject_refs[].type')
  await registerType(parts, 'object', subject_type, { properties: {} })
  const action_name = word('body.action_name')
  const input_schema = { type: 'object', properties: { amount: { type: 'number' } } }
  const required_trust_tier = 'verified'
  await registerType(parts, 'action', action_name, { required_trust_tier, input_schema })
  const body = (trust_tier = 'verified') => ({
    action_name,
    subject_refs: [
      text('body.subject_refs[]'),
      { type: subject_type, ref: text('body.subject_refs[].ref') },
    ],
    params: json('body.params'),
    authority: {
      delegation_ref: text('body.authority.delegation_ref'),
      human_principal: text('body.authority.human_principal'),
      trust_tier,
    },
  })
  const first = { body: body(), headers: headers() }
  const invoked = await twice(parts, { status: 201, path: INVOKE }, first)
  const asked = { action: `worldmodel.action.${action_name}`, path: INVOKE }
  const wait = () => letWait(parts, asked, { body: body(), headers: headers() })
  const [approved, rejected] = [await wait(), await wait()]
  const ids = { approved: approved.action_id, rejected: rejected.action_id }
  for (const action_id of [invoked.action_id, ...Object.values(ids)])
    parts.made.kept.push({ action_id })
  const [approve, reject] = ['world_model.approve_action', 'world_model.reject_action']
  await decideBoth(parts, ids, { path: '/v1/world-model/actions', approve, reject })
  await letDeny(parts, asked, { body: body(), headers: headers() })
  const { detail } = await refused(parts, INVOKE, { body: body('untrusted'), headers: headers() })
  parts.made.kept.push({ action_id: detail.action_id })
  const misfit = { ...body(), params: { amount: word('body.params{}') } }
  await refused(parts, INVOKE, { body: misfit, headers: headers() })
}

async function installTemplate(parts: SendParts): Promise<void> {
  const { text, headers } = marks(parts, 'templates.install')
  const path = '/v1/templates/install'
  const body = { template_id: 'healthcare' }
  await twice(parts, { status: 200, path }, { body, headers: headers() })
  const unknown = { template_id: text('body.template_id') }
  await refused(parts, path, { body: unknown, headers: headers() })
}
