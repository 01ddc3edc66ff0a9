// Templates: world models that a tenant may start from.

import Type, { type Static } from 'typebox'
import { Label, page } from './common.ts'
import { operation } from './operation.ts'
import { recordPage } from './records.ts'
import { WORLD_TYPE_KINDS } from './world-model.ts'

const Template = Type.Object({
  id: Type.String(),
  name: Type.String(),
  version: Type.String(),
  description: Type.String(),
})
export type Template = Static<typeof Template>

export const TypeName = Type.Object({ kind: Type.Enum(WORLD_TYPE_KINDS), name: Type.String() })
export type TypeName = Static<typeof TypeName>

const access = { access: 'tenant', status: 200 } as const

export const templates = {
  list: operation({
    ...access,
    id: 'templates.list',
    scope: 'artifacts:read',
    method: 'GET',
    path: '/v1/templates',
    summary: 'The templates that can be installed',
    query: recordPage,
    reply: page('templates', Template),
    refuses: ['rejected'],
  }),
  install: operation({
    ...access,
    id: 'templates.install',
    scope: 'artifacts:admin',
    method: 'POST',
    path: '/v1/templates/install',
    summary: "Registers all types of a template in the caller's world model, or none",
    description:
      'Each type passes the policies first. A type of the same kind and name with another spec ' +
      'is not overwritten: 422 `rejected` names it in `conflicts`, and nothing is installed. ' +
      'What is there already stays as it is. `dry_run` shows what an installation would do.',
    body: Type.Object({
      template_id: Label,
      dry_run: Type.Optional(Type.Boolean({ default: false })),
    }),
    reply: Type.Object({
      status: Type.Literal('success'),
      data: Type.Object({
        /** The id of the template. */
        template: Type.String(),
        version: Type.String(),
        /** Types of the template that are registered now. */
        installed_types_count: Type.Integer(),
        dry_run: Type.Boolean(),
        /** Registered by this request; of a dry run: what would be. */
        installed: Type.Array(TypeName),
        already_there: Type.Array(TypeName),
        /** What stands in the way: only a dry run shows it here. */
        conflicts: Type.Array(TypeName),
      }),
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
