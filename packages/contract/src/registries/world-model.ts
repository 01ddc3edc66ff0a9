// The world model: types of objects, links and actions, and the actions that were invoked.

import Type, { type Static } from 'typebox'
import { TrustTier } from '../access/keys.ts'
import {
  about,
  boolean,
  Cursor,
  integer,
  JsonObject,
  Label,
  Limit,
  Name,
  Nullable,
  Offset,
  page,
  text,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import {
  APPROVAL_REFUSALS,
  Authority,
  CheckResults,
  DECISION_REFUSALS,
  RecordedAuthority,
  RecordId,
  RecordStatus,
  ResumeRequest,
  recordFields,
  recordPageQuery,
  rejectedReply,
  resumeExample,
  StatusCounts,
  waitingReply,
} from './records.ts'

export const WORLD_TYPE_KINDS = ['object', 'link', 'action'] as const

export const CARDINALITIES = ['one_to_one', 'one_to_many', 'many_to_one', 'many_to_many'] as const
export type Cardinality = (typeof CARDINALITIES)[number]

/** The property types. A `ref` is a text: the name of another object. */
export const PROPERTY_TYPES = [
  'string',
  'integer',
  'number',
  'boolean',
  'ref',
  'object',
  'array',
] as const
export type PropertyType = (typeof PROPERTY_TYPES)[number]

export const worldModelLimits = {
  /** Size of a spec as canonical JSON. */
  spec_bytes: 64 * 1024,
  /** Nesting depth of schemas. */
  schema_depth: 16,
  /** Values in a schema with its references resolved; a long text counts as more than one. */
  schema_nodes: 2_000,
  params_bytes: 64 * 1024,
  instance_bytes: 256 * 1024,
  /** Steps of one check: schemas and keywords evaluated, members listed, characters compared. */
  check_steps: 1_000_000,
  subjects: 100,
  links: 1_000,
  types_per_tenant: 1_000,
  /** Size of a sealed record. Lists omit the spec of a larger one. */
  listed_type_bytes: 64 * 1024,
  /** Size of a sealed record. Lists omit the document and parameters of a larger one. */
  listed_action_bytes: 16 * 1024,
} as const

/** Names of actions. With the prefix `worldmodel.action.`, policies can use them. */
export const ACTION_NAME_PATTERN = '^[A-Za-z0-9_.:-]{1,46}$'

export const WorldTypeKind = Type.Enum(WORLD_TYPE_KINDS, {
  title: 'WorldTypeKind',
  description: 'Kind of world-model type',
})
export type WorldTypeKind = Static<typeof WorldTypeKind>
const Version = integer('Version of the type', { minimum: 1, maximum: 1_000_000 })
const VersionQuery = Type.Object({
  version: Type.Optional({ ...Version, description: 'Version; default: the newest' }),
})

export const RegisterTypeRequest = Type.Object({
  kind: WorldTypeKind,
  name: about(
    Name,
    'Name of the type; of an action up to 46 letters, digits, `_`, `.`, `:` and `-`',
  ),
  spec: about(
    JsonObject,
    'Object: `properties` or a JSON Schema. Link: `from_type` and `to_type`. Action: a trust ' +
      'tier and optional schemas.',
  ),
})
export type RegisterTypeRequest = Static<typeof RegisterTypeRequest>

const typeFields = {
  type_id: about(RecordId, 'Id of the type, the same for all versions'),
  kind: WorldTypeKind,
  name: text('Name of the type'),
  spec: about(JsonObject, 'Definition of the type'),
  schema_digest: text('SHA-256 of the spec'),
  version: integer('Version of the type, from 1'),
  record_id: about(RecordId, 'Id of this version'),
  newest: boolean('Whether this is the newest version'),
  operation: Nullable(text('Name of the action in policies; null for other kinds')),
  ...recordFields,
}

export const WorldType = Type.Object(typeFields, {
  title: 'WorldType',
  description: 'A version of a world-model type',
})
export type WorldType = Static<typeof WorldType>

/** A type in a list: without its document, and without its spec if the record is large. */
export const ListedType = Type.Object({
  ...typeFields,
  spec: Nullable(about(JsonObject, 'Definition of the type; null where it is large')),
  document: Type.Null({ description: 'Always null in a list' }),
})
export type ListedType = Static<typeof ListedType>

const Subject = Type.Union([
  Label,
  Type.Object({
    type: about(Name, 'Object type of the subject'),
    ref: about(Label, 'Name of the subject'),
  }),
])

export const InvokeRequest = Type.Object({
  action_name: about(Name, 'Name of the action type'),
  subject_refs: Type.Array(Subject, {
    maxItems: worldModelLimits.subjects,
    description:
      'What the action applies to: a name, or a name with its object type where the action ' +
      'requires one',
  }),
  params: Type.Optional(Nullable(about(JsonObject, 'Parameters of the action'))),
  authority: Type.Optional(Nullable(Authority)),
})
export type InvokeRequest = Static<typeof InvokeRequest>

const CheckedType = Type.Object(
  {
    type_id: text('Id of the type'),
    version: integer('Version of the type'),
    record_id: text('Id of the version'),
    schema_digest: text('SHA-256 of the spec'),
    required_trust_tier: about(TrustTier, 'Trust tier the action requires'),
    subject_type: Nullable(text('Object type the subjects must have')),
  },
  { title: 'CheckedType', description: 'The version of the type the action was checked against' },
)

const SubjectRefs = Type.Array(
  Type.Union([
    Type.String(),
    Type.Object({
      type: text('Object type of the subject'),
      ref: text('Name of the subject'),
    }),
  ]),
  { title: 'SubjectRefs', description: 'What the action applies to' },
)

const Gate = Nullable(
  Type.Literal('allowed', { description: '`allowed` once the action is invoked' }),
)

const actionFields = {
  action_id: RecordId,
  action_name: text('Name of the action type'),
  subject_refs: SubjectRefs,
  params: about(JsonObject, 'Parameters of the action'),
  params_digest: Nullable(text('SHA-256 of the parameters; null until it is invoked')),
  authority: RecordedAuthority,
  operation: text('Name of the action in policies'),
  gate: Gate,
  type: CheckedType,
  ...recordFields,
}

export const Action = Type.Object(actionFields, {
  title: 'Action',
  description: 'An action, whether invoked, waiting or refused',
})
export type Action = Static<typeof Action>

/** An action in a list: without its document and parameters if the record is large. */
export const ListedAction = Type.Object({
  ...actionFields,
  params: Nullable(about(JsonObject, 'Parameters of the action; null where they are large')),
})
export type ListedAction = Static<typeof ListedAction>

const verification = {
  passed: boolean('Whether every check passed'),
  checks: CheckResults,
  not_checked: Type.Array(Type.String()),
  reason: Nullable(text('The first check that failed, in words; null if all passed')),
}

const validation = {
  valid: boolean('Whether it is valid'),
  errors: Type.Array(Type.String(), { description: 'The first eight errors, without any values' }),
  type_id: text('Id of the type'),
  version: integer('Version of the type it was checked against'),
}

const Link = Type.Object({
  from_id: about(Label, 'Name of the object the link starts from'),
  to_id: about(Label, 'Name of the object the link leads to'),
})

const TypeParams = Type.Object({ type_id: about(RecordId, 'Id of the type') })
const ActionParams = Type.Object({ action_id: RecordId })
const reading = { access: 'tenant', scope: 'artifacts:read', status: 200 } as const
const changing = { access: 'tenant', scope: 'artifacts:admin' } as const
const deciding = {
  ...changing,
  method: 'POST',
  params: ActionParams,
  body: ResumeRequest,
  example: resumeExample,
  status: 200,
  idempotent: true,
} as const

export const worldModel = {
  register_type: operation({
    ...changing,
    id: 'world_model.register_type',
    method: 'POST',
    path: '/v1/world-model/types',
    summary: 'Registers a type, or the next version of a type of the same kind and name',
    description:
      'Use it to define what objects, links and actions look like. The same spec again returns ' +
      'the existing version. Earlier versions stay readable, and an action names the version it ' +
      'was checked against.',
    body: RegisterTypeRequest,
    example: {
      kind: 'object',
      name: 'Shipment',
      spec: {
        type: 'object',
        properties: { weight: { type: 'number', minimum: 0 }, to: { $ref: '#/$defs/place' } },
        required: ['weight'],
        $defs: { place: { enum: ['Lisbon', 'Porto'] } },
      },
    },
    status: 201,
    reply: WorldType,
    refuses: [
      'rejected',
      'policy_denied',
      'approval_required',
      'no_signing_key',
      'idempotency_key_reused',
    ],
    idempotent: true,
  }),
  list_types: operation({
    ...reading,
    id: 'world_model.list_types',
    method: 'GET',
    path: '/v1/world-model/types',
    summary: 'Lists the newest version of each type, by kind and name',
    description:
      'Use it to browse the world model. The list has no signed documents, and no `spec` of a ' +
      'record larger than 64 KiB; read the type by its id.',
    query: Type.Object({
      kind: Type.Optional(about(WorldTypeKind, 'Returns only types of this kind')),
      limit: Limit(limits.records_page),
      offset: Offset,
      cursor: Cursor,
    }),
    reply: page('types', ListedType),
    refuses: ['rejected'],
  }),
  get_type: operation({
    ...reading,
    id: 'world_model.get_type',
    method: 'GET',
    path: '/v1/world-model/types/{type_id}',
    summary: 'Returns one version of a type',
    description: 'Use it to read the newest or an earlier version with its signed document.',
    params: TypeParams,
    query: VersionQuery,
    reply: WorldType,
    refuses: ['type_not_found'],
  }),
  verify_type: operation({
    ...reading,
    id: 'world_model.verify_type',
    method: 'GET',
    path: '/v1/world-model/types/{type_id}/verify',
    summary: 'Verifies the signed document of a type and everything derived in it',
    description: 'Use it before relying on a type.',
    params: TypeParams,
    query: VersionQuery,
    reply: Type.Object({
      ...verification,
      kind: WorldTypeKind,
      name: text('Name of the type'),
      version: integer('Version of the type'),
    }),
    refuses: ['type_not_found'],
  }),
  validate_object: operation({
    ...reading,
    id: 'world_model.validate_object',
    safe: true,
    method: 'POST',
    path: '/v1/world-model/validate/object',
    summary: 'Validates an object against its type',
    description: 'Use it before acting on an object. Nothing is stored.',
    body: Type.Object({
      type_name: about(Name, 'Name of the object type'),
      instance: about(JsonObject, 'The object'),
      version: Type.Optional(
        Nullable({ ...Version, description: 'Version of the type; default: the newest' }),
      ),
    }),
    example: { type_name: 'Invoice', instance: { invoice_ref: 'INV-1', amount: 12.5 } },
    reply: Type.Object(validation),
    refuses: ['type_not_found'],
  }),
  validate_link: operation({
    ...reading,
    id: 'world_model.validate_link',
    safe: true,
    method: 'POST',
    path: '/v1/world-model/validate/link',
    summary: 'Validates a link between two types, and between two objects',
    description:
      'Use it before creating a link. Nothing is stored: the cardinality is checked among the ' +
      'links in the request, the new one (`from_id`, `to_id`) and the existing ones (`existing`).',
    body: Type.Object({
      link_name: about(Name, 'Name of the link type'),
      from_type: about(Name, 'Object type the link starts from'),
      to_type: about(Name, 'Object type the link leads to'),
      from_id: Type.Optional(Nullable(about(Label, 'Name of the object the link starts from'))),
      to_id: Type.Optional(Nullable(about(Label, 'Name of the object the link leads to'))),
      existing: Type.Optional(
        Nullable(
          Type.Array(Link, {
            maxItems: worldModelLimits.links,
            description: 'Existing links of this type',
          }),
        ),
      ),
    }),
    example: {
      link_name: 'owns',
      from_type: 'Client',
      to_type: 'Invoice',
      from_id: 'C-1',
      to_id: 'INV-1',
      existing: [{ from_id: 'C-1', to_id: 'INV-2' }],
    },
    reply: Type.Object({
      ...validation,
      cardinality: Type.Enum(CARDINALITIES, { description: 'Cardinality of the link type' }),
      not_checked: Type.Array(Type.String(), {
        description: 'What was not checked because names are missing',
      }),
    }),
    refuses: ['type_not_found'],
  }),
  invoke: operation({
    ...changing,
    id: 'world_model.invoke',
    method: 'POST',
    path: '/v1/world-model/actions/invoke',
    summary: 'Checks an action against its type, trust tier and policies, and records it',
    description:
      'Use it before an agent acts. A trust tier below the required one is refused with 403 and ' +
      'recorded, as is a denial by a policy; 202 means that a policy asks for an approval.',
    body: InvokeRequest,
    example: {
      action_name: 'refund',
      subject_refs: [{ type: 'Invoice', ref: 'INV-1' }],
      params: { amount: 12.5 },
      authority: { human_principal: 'ana', trust_tier: 'verified' },
    },
    status: 201,
    reply: Action,
    accepted: waitingReply('action_id'),
    refuses: ['type_not_found', 'policy_denied', 'no_signing_key', 'idempotency_key_reused'],
    idempotent: true,
  }),
  list_actions: operation({
    ...reading,
    id: 'world_model.list_actions',
    method: 'GET',
    path: '/v1/world-model/actions',
    summary: 'Lists actions, newest first, including refused ones',
    description:
      'Use it to review what agents did. `document` and `params` of a record larger than 16 KiB ' +
      'are null in the list; read the action by its id.',
    query: recordPageQuery,
    reply: page('invocations', ListedAction),
    refuses: ['rejected'],
  }),
  action_stats: operation({
    ...reading,
    id: 'world_model.action_stats',
    method: 'GET',
    path: '/v1/world-model/actions/stats',
    summary: 'Counts types by kind and actions by status',
    description: 'Use it for an overview of the world model.',
    reply: Type.Object({
      types: about(StatusCounts, 'Types by kind'),
      actions: about(StatusCounts, 'Actions by status'),
    }),
    refuses: [],
  }),
  get_action: operation({
    ...reading,
    id: 'world_model.get_action',
    method: 'GET',
    path: '/v1/world-model/actions/{action_id}',
    summary: 'Returns one action',
    description: 'Use it to read an action with its signed document.',
    params: ActionParams,
    reply: Action,
    refuses: ['action_not_found'],
  }),
  verify_action: operation({
    ...reading,
    id: 'world_model.verify_action',
    method: 'GET',
    path: '/v1/world-model/actions/{action_id}/verify',
    summary: 'Verifies the signed document of an action and everything derived in it',
    description: 'Use it before relying on an action.',
    params: ActionParams,
    reply: Type.Object({
      ...verification,
      attribution: Type.Object(
        {
          who: Nullable(text('The person on whose behalf it was done, as claimed')),
          did: text('Name of the action type'),
          to: SubjectRefs,
          under: Type.Object(
            {
              delegation_ref: Nullable(text('Reference of the delegation')),
              trust_tier: about(TrustTier, 'Trust tier that applied'),
            },
            { description: 'The authority' },
          ),
          gate: Gate,
        },
        { description: 'Who did what to which subject, and under what authority' },
      ),
      status: RecordStatus,
    }),
    refuses: ['action_not_found'],
  }),
  approve_action: operation({
    ...deciding,
    id: 'world_model.approve_action',
    path: '/v1/world-model/actions/{action_id}/approve',
    summary: 'Approves an action that waits for an approval, and signs it',
    description: 'Use it to release an escalated action. Everything is checked again.',
    reply: Action,
    refuses: ['action_not_found', ...APPROVAL_REFUSALS],
  }),
  reject_action: operation({
    ...deciding,
    id: 'world_model.reject_action',
    path: '/v1/world-model/actions/{action_id}/reject',
    summary: 'Rejects an action that waits for an approval',
    description: 'Use it to end an escalated action.',
    reply: rejectedReply('action_id'),
    refuses: ['action_not_found', ...DECISION_REFUSALS],
  }),
} as const
