// The world model: types of objects, links and actions, and the actions that were invoked.

import Type, { type Static } from 'typebox'
import { JsonObject, Label, Limit, Nullable, Offset, page } from './common.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'
import {
  APPROVING_REFUSES,
  Authority,
  DECIDING_REFUSES,
  RECORD_STATUSES,
  RecordedAuthority,
  RecordId,
  ResumeRequest,
  recordFields,
  recordPage,
  rejectedReply,
  StatusCounts,
  TrustTier,
  waiting,
} from './records.ts'

export const WORLD_TYPE_KINDS = ['object', 'link', 'action'] as const
export type WorldTypeKind = (typeof WORLD_TYPE_KINDS)[number]

export const CARDINALITIES = ['one_to_one', 'one_to_many', 'many_to_one', 'many_to_many'] as const
export type Cardinality = (typeof CARDINALITIES)[number]

/** What the property form knows; a `ref` is the name of another object: text. */
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
  /** Of a spec, as canonical JSON. */
  spec_bytes: 64 * 1024,
  /** Schemas within schemas. */
  schema_depth: 16,
  /** Values of a schema, with what it refers to in place of each reference; long texts are more. */
  schema_nodes: 2_000,
  params_bytes: 64 * 1024,
  instance_bytes: 256 * 1024,
  /** Of one check: schemas and keywords met, members listed, characters compared. */
  check_steps: 1_000_000,
  subjects: 100,
  links: 1_000,
  types_per_tenant: 1_000,
  /** Of a sealed record: in a list, more is shown without its spec. */
  listed_type_bytes: 64 * 1024,
  /** In a list, more is shown without its document and parameters. */
  listed_action_bytes: 16 * 1024,
} as const

/** With `worldmodel.action.` before it a name that policies can say. */
export const ACTION_NAME_PATTERN = '^[A-Za-z0-9_.:-]{1,46}$'

const Kind = Type.Enum(WORLD_TYPE_KINDS)
const Name = Type.String({ ...Label, maxLength: limits.name_chars })
const Version = Type.Integer({ minimum: 1, maximum: 1_000_000 })
/** Of one version; without it, of the newest. */
const VersionQuery = Type.Object({ version: Type.Optional(Version) })

export const RegisterTypeRequest = Type.Object({
  kind: Kind,
  /** Of an action: letters, digits, `_`, `.`, `:` and `-`, at most 46. */
  name: Name,
  /** Object: `properties`, or a JSON Schema. Link: `from_type`, `to_type`. Action: a tier. */
  spec: JsonObject,
})
export type RegisterTypeRequest = Static<typeof RegisterTypeRequest>

export const WorldType = Type.Object({
  /** The same for all versions. */
  type_id: RecordId,
  kind: Kind,
  name: Type.String(),
  spec: JsonObject,
  schema_digest: Type.String(),
  version: Type.Integer(),
  /** Of this version. */
  record_id: RecordId,
  /** Whether no later version is there. */
  newest: Type.Boolean(),
  /** What policies know an action by; null of other kinds. */
  operation: Nullable(Type.String()),
  ...recordFields,
})
export type WorldType = Static<typeof WorldType>

/** Without its document, and where it is large without its spec. */
export const ListedType = Type.Object({
  ...WorldType.properties,
  spec: Nullable(JsonObject),
  document: Type.Null(),
})
export type ListedType = Static<typeof ListedType>

const Subject = Type.Union([Label, Type.Object({ type: Name, ref: Label })])

export const InvokeRequest = Type.Object({
  action_name: Name,
  /** A name, or a name with the object type it is of: required where the action has one. */
  subject_refs: Type.Array(Subject, { maxItems: worldModelLimits.subjects }),
  params: Type.Optional(Nullable(JsonObject)),
  authority: Type.Optional(Nullable(Authority)),
})
export type InvokeRequest = Static<typeof InvokeRequest>

const CheckedType = Type.Object({
  type_id: Type.String(),
  version: Type.Integer(),
  record_id: Type.String(),
  schema_digest: Type.String(),
  required_trust_tier: TrustTier,
  subject_type: Nullable(Type.String()),
})

export const Action = Type.Object({
  action_id: RecordId,
  action_name: Type.String(),
  subject_refs: Type.Array(
    Type.Union([Type.String(), Type.Object({ type: Type.String(), ref: Type.String() })]),
  ),
  params: JsonObject,
  /** Null until it is invoked. */
  params_digest: Nullable(Type.String()),
  authority: RecordedAuthority,
  operation: Type.String(),
  /** `allowed` once it is invoked; before that null. */
  gate: Nullable(Type.Literal('allowed')),
  /** The version of the type it was checked against. */
  type: CheckedType,
  ...recordFields,
})
export type Action = Static<typeof Action>

/** Where it is large without its document and parameters. */
export const ListedAction = Type.Object({ ...Action.properties, params: Nullable(JsonObject) })
export type ListedAction = Static<typeof ListedAction>

const verification = {
  passed: Type.Boolean(),
  checks: Type.Record(Type.String(), Type.Boolean()),
  /** What the record alone cannot show. */
  not_checked: Type.Array(Type.String()),
  /** The first failure in words; null when passed. */
  reason: Nullable(Type.String()),
}

const Validation = Type.Object({
  valid: Type.Boolean(),
  /** The first eight; none holds a value. */
  errors: Type.Array(Type.String()),
  type_id: Type.String(),
  version: Type.Integer(),
})

/** One link by the names of what it joins. */
const Link = Type.Object({ from_id: Label, to_id: Label })

const TypeParams = Type.Object({ type_id: RecordId })
const ActionParams = Type.Object({ action_id: RecordId })
const reading = { access: 'tenant', scope: 'artifacts:read', status: 200 } as const
const changing = { access: 'tenant', scope: 'artifacts:admin' } as const
const deciding = {
  ...changing,
  method: 'POST',
  params: ActionParams,
  body: ResumeRequest,
  status: 200,
  idempotent: true,
} as const

export const worldModel = {
  register_type: operation({
    ...changing,
    id: 'world_model.register_type',
    method: 'POST',
    path: '/v1/world-model/types',
    summary: 'Registers a type, or its next version where one of that kind and name is there',
    description:
      'The same spec again answers the version there is. Earlier versions stay readable, and an ' +
      'action names the version it was checked against.',
    body: RegisterTypeRequest,
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
    summary: 'The newest version of each type, by kind and name',
    description:
      'Without the signed documents (`document` is null), and a `spec` whose record is of more ' +
      'than 64 KiB is null; read the type to have them.',
    query: Type.Object({
      kind: Type.Optional(Kind),
      limit: Limit(limits.records_page),
      offset: Offset,
      cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
    }),
    reply: page('types', ListedType),
    refuses: ['rejected'],
  }),
  get_type: operation({
    ...reading,
    id: 'world_model.get_type',
    method: 'GET',
    path: '/v1/world-model/types/{type_id}',
    summary: 'A type with its signed document, as it is or as it was',
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
    summary: 'Recomputes everything that the document of a type says',
    params: TypeParams,
    query: VersionQuery,
    reply: Type.Object({
      ...verification,
      kind: Kind,
      name: Type.String(),
      version: Type.Integer(),
    }),
    refuses: ['type_not_found'],
  }),
  validate_object: operation({
    ...reading,
    id: 'world_model.validate_object',
    method: 'POST',
    path: '/v1/world-model/validate/object',
    summary: 'Whether an object is one of its type; nothing is kept',
    body: Type.Object({
      type_name: Name,
      instance: JsonObject,
      version: Type.Optional(Nullable(Version)),
    }),
    reply: Validation,
    refuses: ['type_not_found'],
  }),
  validate_link: operation({
    ...reading,
    id: 'world_model.validate_link',
    method: 'POST',
    path: '/v1/world-model/validate/link',
    summary: 'Whether a link may join two types, and these two objects; nothing is kept',
    description:
      'The service keeps no objects: the cardinality is checked among the links that the caller ' +
      'names, the new one (`from_id`, `to_id`) and those there already (`existing`).',
    body: Type.Object({
      link_name: Name,
      from_type: Name,
      to_type: Name,
      from_id: Type.Optional(Nullable(Label)),
      to_id: Type.Optional(Nullable(Label)),
      existing: Type.Optional(Nullable(Type.Array(Link, { maxItems: worldModelLimits.links }))),
    }),
    reply: Type.Object({
      ...Validation.properties,
      cardinality: Type.Enum(CARDINALITIES),
      /** What was not looked at for want of names. */
      not_checked: Type.Array(Type.String()),
    }),
    refuses: ['type_not_found'],
  }),
  invoke: operation({
    ...changing,
    id: 'world_model.invoke',
    method: 'POST',
    path: '/v1/world-model/actions/invoke',
    summary: 'Records an action: its type, the trust it needs, its parameters, the policies',
    description:
      'A trust tier below the required one is refused with 403, and the refusal is kept and ' +
      'logged; so is what a policy denies. 202 where a policy asks for a person first.',
    body: InvokeRequest,
    status: 201,
    reply: Action,
    accepted: waiting('action_id'),
    refuses: ['type_not_found', 'policy_denied', 'no_signing_key', 'idempotency_key_reused'],
    idempotent: true,
  }),
  list_actions: operation({
    ...reading,
    id: 'world_model.list_actions',
    method: 'GET',
    path: '/v1/world-model/actions',
    summary: 'The actions of the tenant, newest first, those that were refused among them',
    description:
      '`document` and `params` of a record of more than 16 KiB are null here; read the action to ' +
      'have them.',
    query: recordPage,
    reply: page('invocations', ListedAction),
    refuses: ['rejected'],
  }),
  action_stats: operation({
    ...reading,
    id: 'world_model.action_stats',
    method: 'GET',
    path: '/v1/world-model/actions/stats',
    summary: 'How many types there are of each kind, and actions of each status',
    reply: Type.Object({ types: StatusCounts, actions: StatusCounts }),
    refuses: [],
  }),
  get_action: operation({
    ...reading,
    id: 'world_model.get_action',
    method: 'GET',
    path: '/v1/world-model/actions/{action_id}',
    summary: 'An action with its signed document',
    params: ActionParams,
    reply: Action,
    refuses: ['action_not_found'],
  }),
  verify_action: operation({
    ...reading,
    id: 'world_model.verify_action',
    method: 'GET',
    path: '/v1/world-model/actions/{action_id}/verify',
    summary: 'Recomputes everything that the document of an action says',
    params: ActionParams,
    reply: Type.Object({
      ...verification,
      attribution: Type.Object({
        /** The human principal as the caller gave it. */
        who: Nullable(Type.String()),
        did: Type.String(),
        to: Action.properties.subject_refs,
        under: Type.Object({ delegation_ref: Nullable(Type.String()), trust_tier: TrustTier }),
        gate: Nullable(Type.Literal('allowed')),
      }),
      status: Type.Enum(RECORD_STATUSES),
    }),
    refuses: ['action_not_found'],
  }),
  approve_action: operation({
    ...deciding,
    id: 'world_model.approve_action',
    path: '/v1/world-model/actions/{action_id}/approve',
    summary: 'Approves an action that waits: everything is checked again, then it is signed',
    reply: Action,
    refuses: ['action_not_found', ...APPROVING_REFUSES],
  }),
  reject_action: operation({
    ...deciding,
    id: 'world_model.reject_action',
    path: '/v1/world-model/actions/{action_id}/reject',
    summary: 'Rejects an action that waits',
    reply: rejectedReply('action_id'),
    refuses: ['action_not_found', ...DECIDING_REFUSES],
  }),
} as const
