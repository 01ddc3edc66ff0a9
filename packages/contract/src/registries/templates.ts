// Templates: predefined world models that a tenant can install.

import Type, { type Static } from 'typebox'
import { boolean, integer, Label, page, text } from '../core/common.ts'
import { operation } from '../core/operation.ts'
import { recordPageQuery } from './records.ts'
import { WorldTypeKind } from './world-model.ts'

const Template = Type.Object({
  id: text('Id of the template'),
  name: text('Name of the template'),
  version: text('Version of the template'),
  description: text('What the template models'),
})
export type Template = Static<typeof Template>

export const TypeName = Type.Object(
  {
    kind: WorldTypeKind,
    name: text('Name of the type'),
  },
  { title: 'TypeName', description: 'A world-model type by kind and name' },
)
export type TypeName = Static<typeof TypeName>

const access = { access: 'tenant', status: 200 } as const

export const templates = {
  list: operation({
    ...access,
    id: 'templates.list',
    scope: 'artifacts:read',
    method: 'GET',
    path: '/v1/templates',
    summary: 'Lists the templates that can be installed',
    description: 'Use it to choose a template before installing it.',
    query: recordPageQuery,
    reply: page('templates', Template),
    refuses: ['rejected'],
  }),
  install: operation({
    ...access,
    id: 'templates.install',
    scope: 'artifacts:admin',
    method: 'POST',
    path: '/v1/templates/install',
    summary: 'Registers all types of a template in the world model, or none',
    description:
      'Use it to set up a world model; send `dry_run` first to see what would be registered. ' +
      'Policies are evaluated for each type. A type of the same kind and name with another ' +
      'spec is not overwritten: 422 `rejected` lists it in `conflicts` and nothing is ' +
      'installed. Types that are already registered with the same spec are left unchanged.',
    body: Type.Object({
      template_id: Label,
      dry_run: Type.Optional(
        Type.Boolean({ default: false, description: 'Reports the outcome and changes nothing' }),
      ),
    }),
    example: { template_id: 'healthcare' },
    reply: Type.Object({
      status: Type.Literal('success', { description: 'Always `success`' }),
      data: Type.Object(
        {
          template: text('Id of the template'),
          version: text('Version of the template'),
          installed_types_count: integer('Types of the template that are now registered'),
          dry_run: boolean('Whether this was a dry run'),
          installed: Type.Array(TypeName, {
            description: 'Types registered by this request; in a dry run, those that would be',
          }),
          already_there: Type.Array(TypeName, {
            description: 'Types that were already registered with the same spec',
          }),
          conflicts: Type.Array(TypeName, {
            description: 'Types that block the installation; filled only in a dry run',
          }),
        },
        { description: 'The outcome' },
      ),
    }),
    refuses: [
      'template_not_found',
      'rejected',
      'policy_denied',
      'approval_required',
      'no_signing_key',
      'idempotency_key_reused',
    ],
    idempotent: true,
  }),
} as const
