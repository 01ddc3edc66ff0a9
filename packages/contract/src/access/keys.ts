// Scoped API keys of a tenant.

import Type, { type Static } from 'typebox'
import {
  about,
  Cursor,
  Label,
  Limit,
  Name,
  Nullable,
  page,
  pathId,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import { SCOPES, TOKEN_SCOPES } from '../core/scopes.ts'
import { Namespace } from '../memory/memory-records.ts'

/** Trust tiers in ascending order. */
export const TRUST_TIERS = ['untrusted', 'basic', 'verified', 'trusted', 'release', 'root'] as const

export const TrustTier = Type.Enum(TRUST_TIERS, {
  title: 'TrustTier',
  description: 'Trust tier of a caller; the values are in ascending order',
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
  namespace: Nullable(
    text('The only namespace the key may use, as `T/x` or `T` for the root; null: every namespace'),
  ),
  max_trust_tier: Nullable(about(TrustTier, 'Highest trust tier a call may claim; null: any')),
  created_at: Timestamp,
  expires_at: Nullable(time('When the key stops working; null: never')),
}

export const Key = Type.Object(
  {
    ...keyFields,
    revoked_at: Nullable(time('When the key was revoked; null: it is in force')),
    last_used_at: Nullable(
      time('When the key was last used, at most a minute old; null: never since that is recorded'),
    ),
  },
  { title: 'Key', description: 'An API key, without its secret' },
)
export type Key = Static<typeof Key>

/** The credential of a request: a stored key, a token, or local mode, which has no key. */
const CurrentKey = Type.Object(
  {
    key_id: text('Id of the key; `local` in local mode'),
    tenant_id: text('The tenant the key belongs to'),
    class: Type.Enum(['tenant', 'read_only', 'service', 'token', 'local'], {
      description: 'Class of the key',
    }),
    scopes: keyFields.scopes,
    allowed_stores: keyFields.allowed_stores,
    namespace: keyFields.namespace,
    max_trust_tier: keyFields.max_trust_tier,
    expires_at: keyFields.expires_at,
  },
  { title: 'CurrentKey', description: 'The credential of the request' },
)
export type CurrentKey = Static<typeof CurrentKey>

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
      'need. The new key can do nothing that the calling key cannot: class, scopes, stores, ' +
      'namespace, trust tier and expiry are at most those of the calling key. A key with a ' +
      'namespace may call only operations on memories, and sees that namespace and nothing else. ' +
      'An empty list of stores and a null namespace are refused, because they would mean no ' +
      'limit. Only the hash of the key is stored.',
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
          minItems: 1,
          maxItems: 1_000,
          description:
            'Existing stores the key may use, at least one; left out: those of the calling key',
        }),
      ),
      namespace: Type.Optional(
        about(Namespace, 'The only namespace the key may use; left out: those of the calling key'),
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
    refuses: ['rejected', 'store_not_found', 'idempotency_key_reused'],
    idempotent: true,
  }),
  create_token: operation({
    access: 'tenant',
    id: 'keys.create_token',
    method: 'POST',
    path: '/v1/keys/tokens',
    scope: 'memory:read',
    summary: 'Creates a short-lived token for one store and namespace, and shows it once',
    description:
      'Use it to hand a front end or an agent access to the memories of one person. The token ' +
      'reads and writes that namespace of that store and nothing else. It can do nothing that ' +
      'the calling key cannot, ends no later, and ends at once when that key is revoked. A key ' +
      `has at most ${limits.live_tokens_per_key} tokens that have not ended. ` +
      'Tokens are not listed; `DELETE /v1/keys/{key_id}` revokes one.',
    body: Type.Object({
      store_id: about(Label, 'The existing store the token may use'),
      namespace: about(Namespace, 'The namespace the token may use'),
      scopes: Type.Array(
        Type.Enum(TOKEN_SCOPES, { title: 'TokenScope', description: 'What a token may do' }),
        { minItems: 1, maxItems: TOKEN_SCOPES.length, description: 'What the token may do' },
      ),
      ttl_s: Type.Optional(
        Type.Integer({
          minimum: limits.token_ttl_s.min,
          maximum: limits.token_ttl_s.max,
          default: limits.token_ttl_s.default,
          description: 'Seconds until the token ends',
        }),
      ),
    }),
    example: { store_id: 'default', namespace: 'user-1', scopes: ['memory:read'], ttl_s: 900 },
    status: 201,
    reply: Type.Object({
      key_id: text('Id of the token'),
      token: about(NewApiKey, 'The token, shown once; sent like an API key'),
      store_id: text('The store the token may use'),
      namespace: text('The namespace the token may use, as `T/x` or `T` for the root'),
      scopes: Type.Array(ScopeName, { description: 'What the token may do' }),
      created_at: Timestamp,
      expires_at: time('When the token ends'),
    }),
    refuses: ['rejected', 'store_not_found', 'too_many_tokens', 'idempotency_key_reused'],
    idempotent: true,
  }),
  list: operation({
    ...tenantAdmin,
    id: 'keys.list',
    method: 'GET',
    path: '/v1/keys',
    summary: 'Lists the keys of the tenant, oldest first, including revoked ones',
    description:
      'Use it to review who has access. The keys themselves are never shown. Tokens are not ' +
      'listed, and a key with a namespace leaves the list within ten minutes of its end.',
    query: Type.Object({
      limit: Limit(limits.page),
      offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 31, default: 0 })),
      cursor: Cursor,
    }),
    status: 200,
    reply: page('keys', Key),
    refuses: ['rejected'],
  }),
  current: operation({
    access: 'tenant',
    id: 'keys.current',
    method: 'GET',
    path: '/v1/keys/current',
    namespaced: true,
    summary: 'Returns what the calling credential may do',
    description:
      'Use it at the start of an application to see that its key is accepted, and to offer only ' +
      'what the key may do. It shows nothing of any other key.',
    status: 200,
    reply: CurrentKey,
    refuses: [],
  }),
  revoke: operation({
    ...tenantAdmin,
    id: 'keys.revoke',
    method: 'DELETE',
    path: '/v1/keys/{key_id}',
    summary: 'Revokes a key with immediate effect',
    description:
      'Use it when a key or token is no longer needed or may have leaked. A key can revoke ' +
      'itself and keys that can do no more than it. Tokens made with a key end with it.',
    params: Type.Object({ key_id: pathId({ description: 'Id of the key' }) }),
    status: 200,
    reply: Type.Object({
      key_id: text('Id of the key'),
      revoked: Type.Boolean({ description: 'False when the key had been revoked before' }),
    }),
    refuses: ['key_not_found'],
  }),
} as const
