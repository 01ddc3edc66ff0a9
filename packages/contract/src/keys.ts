// Scoped API keys of a tenant.

import Type, { type Static } from 'typebox'
import { Label, Limit, Nullable, page, Timestamp } from './common.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'
import { SCOPES } from './scopes.ts'

/** Trust tiers in ascending order. */
export const TRUST_TIERS = ['untrusted', 'basic', 'verified', 'trusted', 'release', 'root'] as const

const KeyClass = Type.Enum(['tenant', 'read_only', 'service'])
const StoreIds = Type.Array(Type.String({ ...Label }), { maxItems: 1_000 })

const keyFields = {
  key_id: Type.String(),
  name: Type.String(),
  class: KeyClass,
  /** The first characters of the key, to recognise it by. */
  prefix: Type.String(),
  scopes: Type.Array(Type.Enum(SCOPES)),
  /** Empty: every store. */
  allowed_stores: Type.Array(Type.String()),
  max_trust_tier: Nullable(Type.Enum(TRUST_TIERS)),
  created_at: Timestamp,
  expires_at: Nullable(Timestamp),
}

export const Key = Type.Object({ ...keyFields, revoked_at: Nullable(Timestamp) })
export type Key = Static<typeof Key>

/** A key in the clear. Only its hash is kept, so that a replayed answer cannot show it. */
export const ShownOnce = Type.Union([Type.String(), Type.Null()], {
  description: 'Null when an Idempotency-Key is used again: the key is shown once',
})

const tenantAdmin = { access: 'tenant', scope: 'keys:admin' } as const

export const keys = {
  create: operation({
    ...tenantAdmin,
    id: 'keys.create',
    method: 'POST',
    path: '/v1/keys',
    summary: 'Issues a key; it is shown once and only its hash is kept',
    description:
      'Nothing can be granted that the caller lacks: scopes, stores and the trust ceiling are ' +
      'those of the caller at most.',
    body: Type.Object({
      name: Type.Optional(Type.String({ ...Label, maxLength: limits.name_chars })),
      class: Type.Optional(Type.Enum(['tenant', 'read_only', 'service'], { default: 'service' })),
      scopes: Type.Optional(
        Type.Array(Type.Enum(SCOPES), { minItems: 1, maxItems: SCOPES.length }),
      ),
      allowed_stores: Type.Optional(StoreIds),
      expires_at: Type.Optional(Nullable(Timestamp)),
      max_trust_tier: Type.Optional(Nullable(Type.Enum(TRUST_TIERS))),
    }),
    body_optional: true,
    status: 201,
    reply: Type.Object({ ...keyFields, api_key: ShownOnce }),
    refuses: ['rejected', 'idempotency_key_reused'],
    idempotent: true,
  }),
  list: operation({
    ...tenantAdmin,
    id: 'keys.list',
    method: 'GET',
    path: '/v1/keys',
    summary:
      'The keys of the tenant, oldest first, revoked ones included; never the keys themselves',
    query: Type.Object({
      limit: Limit(limits.page),
      offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 31, default: 0 })),
      /** The `next_cursor` of the page before; it replaces `offset`. */
      cursor: Type.Optional(Type.String({ pattern: '^[0-9]{1,9}$' })),
    }),
    status: 200,
    reply: page('keys', Key),
    refuses: [],
  }),
  revoke: operation({
    ...tenantAdmin,
    id: 'keys.revoke',
    method: 'DELETE',
    path: '/v1/keys/{key_id}',
    summary: 'Revokes a key at once; `revoked` is false when it already was',
    params: Type.Object({
      key_id: Type.String({ minLength: 1, maxLength: limits.label_chars }),
    }),
    status: 200,
    reply: Type.Object({ key_id: Type.String(), revoked: Type.Boolean() }),
    refuses: ['key_not_found'],
  }),
} as const
