// A service, and for each test a tenant of its own with a small world.

import type { Answer, RequestOptions } from '../../../testing/harness.ts'
import { openTenantScene, type TenantScene, withMore } from '../../../testing/tenant-scene.ts'

export const INVOICE = {
  kind: 'object',
  name: 'Invoice',
  spec: {
    properties: {
      invoice_ref: { type: 'string', required: true },
      amount: { type: 'number' },
      tenor: { type: 'integer' },
      paid: { type: 'boolean' },
      client: { type: 'ref' },
      lines: { type: 'array' },
      address: { type: 'object' },
    },
  },
}
export const CLIENT = { kind: 'object', name: 'Client', spec: { properties: {} } }
export const OWNS = {
  kind: 'link',
  name: 'owns',
  spec: { from_type: 'Client', to_type: 'Invoice', cardinality: 'one_to_many' },
}
export const CERTIFY = {
  kind: 'action',
  name: 'certify',
  spec: {
    operation: 'worldmodel.action.certify',
    required_trust_tier: 'verified',
    subject_type: 'Invoice',
    input_schema: { amount: { type: 'number', required: true }, note: { type: 'string' } },
  },
}
export const INVOCATION = {
  action_name: 'certify',
  subject_refs: [{ type: 'Invoice', ref: 'INV-1' }],
  params: { amount: 12.5, note: 'as seen' },
  authority: { human_principal: 'ada', delegation_ref: 'd-7', trust_tier: 'trusted' },
}

interface World {
  register(type: unknown): Promise<Answer['body']>
  /** Invoice, Client, owns and certify. */
  build(): Promise<void>
  invoke(more?: object, asking?: RequestOptions): Promise<Answer>
}

/** One service for all tests of the file; to be called where its tests are declared. */
export function openWorldScene(): TenantScene & World {
  const scene = openTenantScene()
  const { ask, told } = scene
  const register: World['register'] = (type) => told(201, 'POST', '/world-model/types', type)
  return withMore(scene, {
    register,
    async build() {
      for (const type of [INVOICE, CLIENT, OWNS, CERTIFY]) await register(type)
    },
    invoke: (more: object = {}, asking: RequestOptions = {}) =>
      ask('POST', '/world-model/actions/invoke', { ...INVOCATION, ...more }, asking),
  })
}

/** Every leaf once with another value in its place. */
export function* mutations(value: unknown): Generator<unknown> {
  if (Array.isArray(value))
    for (const i of value.keys())
      for (const other of mutations(value[i])) yield value.with(i, other)
  else if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value))
      for (const other of mutations(inner)) yield { ...value, [name]: other }
  else if (typeof value === 'number') yield value + 1
  else if (typeof value === 'boolean') yield !value
  else yield `${value}x`
}
