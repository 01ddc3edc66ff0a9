// Scoped API keys of a tenant.

import Type, { type Static } from 'typebox'
import {
  about,
  Label,
  Limit,
  Name,
  Nullable,
  page,
  pathId,
  Timestamp,
  text,
  time,
} from './common.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'
import { SCOPES } from './scopes.ts'

/** Trust tiers in ascending order. */
export const TRUST_TIERS = ['untrusted', 'basic', 'verified', 'trusted', 'release', 'root'] as const

export const TrustTier = Type.Enum(TRUST_TIERS, {
  title: 'TrustTier',
  description: 'A trust tier; the values are in ascending order',
})
export type TrustTier = Static<typeof TrustTier>

const ScopeName = Type.Enum(SCOPES, {
  title: 'Scope',
  description: 'What a key may do; `*` covers every scope of a tenant',
})

const KeyClass = Type.Enum(['tenant', 'read_only', 'service'], {
  title: 'KeyClass',
  description: 'Class of the key',
})

const keyFields = {
  key_id: text('Id of the key'),
  name: text('Name of the key'),
  class: KeyClass,
  prefix: text('First characters of the key, to recognise it by'),
  scopes: Type.Array(ScopeName, { description: 'What the key may do' }),
  allowed_stores: Type.Array(Type.String(), {
    description: 'Stores the key may use; empty: all stores',
  }),
  max_trust_tier: Nullable(about(TrustTier, 'Highest trust tier a call may claim; null: any')),
  created_at: Timestamp,
  expires_at: Nullable(time('When the key stops working; null: never')),
}

export const Key = Type.Object(
  {
    ...keyFields,
    revoked_at: Nullable(time('When the key was revoked; null: it is in force')),
  },
  { title: 'Key', description: 'An API key, without its secret' },
)
export type Key = Static<typeof Key>

/** A key in the clear. Only its hash is stored, so a replayed reply cannot contain it. */
export const NewApiKey = Type.Union([Type.String(), Type.Null()], {
  title: 'NewApiKey',
  description:
    'The key, shown once; null in the replayed reply to a request with the same Idempotency-Key',
})

const tenantAdmin = { access: 'tenant', scope: 'keys:admin' } as const

export const keys = {
  create: operation({
    ...tenantAdmin,
    id: 'keys.create',
    method: 'POST',
    path: '/v1/keys',
    summary: 'Creates an API key and shows it once',
    description:
      'Use it to give an application or a person a key with only the scopes and stores they ' +
      'need. The new key can have no scope, store or trust tier that the calling key lacks. Only ' +
      'its hash is stored.',
    body: Type.Object({
      name: Type.Optional(about(Name, 'Name of the key')),
      class: Type.Optional(
        about(
          { ...KeyClass, default: 'service' },
          'Class of the key, which sets the default scopes',
        ),
      ),
      scopes: Type.Optional(
        Type.Array(ScopeName, {
          minItems: 1,
          maxItems: SCOPES.length,
          description: 'What the key may do; default: by its class',
        }),
      ),
      allowed_stores: Type.Optional(
        Type.Array(Label, {
          maxItems: 1_000,
          description: 'Stores the key may use; default: those of the calling key',
        }),
      ),
      expires_at: Type.Optional(Nullable(time('When the key stops working; default: never'))),
      max_trust_tier: Type.Optional(
        Nullable(about(TrustTier, 'Highest trust tier a call may claim; default: any')),
      ),
    }),
    body_optional: true,
    example: { name: 'deputy', scopes: ['keys:admin'] },
    status: 201,
    reply: Type.Object({ ...keyFields, api_key: NewApiKey }),
    refuses: ['rejected', 'idempotency_key_reused'],
    idempotent: true,
  }),
  list: operation({
    ...tenantAdmin,
    id: 'keys.list',
    method: 'GET',
    path: '/v1/keys',
    summary: 'Lists the keys of the tenant, oldest first, including revoked ones',
    description: 'Use it to review who has access. The keys themselves are never shown.',
    query: Type.Object({
      limit: Limit(limits.page),
      offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 31, default: 0 })),
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
    summary: 'Revokes a key with immediate effect',
    description: 'Use it when a key is no longer needed or may have leaked.',
    params: Type.Object({ key_id: pathId({ description: 'Id of the key' }) }),
    status: 200,
    reply: Type.Object({
      key_id: text('Id of the key'),
      revoked: Type.Boolean({ description: 'False when the key had been revoked before' }),
    }),
    refuses: ['key_not_found'],
  }),
} as const
