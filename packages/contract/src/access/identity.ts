// People: users with roles, invitations, browser sessions, and the identity of the caller.

import Type, { type Static } from 'typebox'
import {
  about,
  boolean,
  Cursor,
  count,
  Hex12,
  Label,
  Limit,
  label,
  Nullable,
  Offset,
  page,
  pathId,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import { ROLES, SCOPES } from '../core/scopes.ts'
import { Connected, Domain, Domains, SsoConnection, sso } from './sso.ts'

/** How the caller of a request is authenticated. */
const CALLER_MODES = ['local', 'session', 'key'] as const

const RoleName = Type.Enum(ROLES, {
  title: 'Role',
  description: 'What a person may do; each role is a list of scopes, see docs/people.md',
})
const Roles = Type.Array(RoleName, {
  title: 'Roles',
  description: 'Roles of a person',
  minItems: 1,
  maxItems: ROLES.length,
})
const Email = label({
  title: 'Email',
  description: 'An e-mail address; compared without regard to case',
  minLength: 3,
  maxLength: limits.email_chars,
  pattern: '^[^\\s@]+@[^\\s@]+$',
})
const PersonName = label({ minLength: 0, maxLength: limits.name_chars })

const USER_STATES = ['invited', 'active'] as const

export const User = Type.Object(
  {
    user_id: about(Hex12, 'Id of the person'),
    email: text('The e-mail address; empty once it was erased'),
    name: text('The name; may be empty'),
    roles: Type.Array(RoleName, { description: 'Roles of the person' }),
    stores: Nullable(
      Type.Array(Type.String(), { description: 'Stores the person may use; null: all stores' }),
    ),
    state: Type.Enum(USER_STATES, {
      title: 'UserState',
      description: '`invited`: the invitation has not been accepted yet',
    }),
    created_at: Timestamp,
    invited_until: Nullable(
      time('Until when the invitation can be accepted; null: it was accepted'),
    ),
  },
  { title: 'User', description: 'A person of the tenant' },
)
export type User = Static<typeof User>

const Caller = Type.Object(
  {
    mode: Type.Enum(CALLER_MODES, {
      description:
        '`local`: local mode without a credential; `session`: a cookie; `key`: an API key',
    }),
    tenant_id: Nullable(text('Id of the tenant; null: an operator')),
    tenant_name: Nullable(text('Name of the tenant; null: an operator')),
    user: about(
      Nullable(
        Type.Object(
          {
            user_id: about(Hex12, 'Id of the person'),
            name: text('The name; may be empty'),
            roles: Type.Array(RoleName, { description: 'Roles of the person' }),
          },
          { title: 'CallerUser', description: 'A signed-in person' },
        ),
      ),
      'The signed-in person; null: unknown',
    ),
    key_id: Nullable(
      text(
        'Id of the API key, or of that of the session; null: local mode, or a session without ' +
          'a key',
      ),
    ),
    scopes: Type.Array(Type.Enum(SCOPES), { description: 'What the caller may do' }),
    stores: Nullable(
      Type.Array(Type.String(), { description: 'Stores the caller may use; null: all stores' }),
    ),
    operator: boolean('Whether the caller is a platform operator'),
    expires_at: Nullable(
      time('When the key expires, or the session if it is not used; null: never'),
    ),
    csrf_token: Nullable(
      text('Send it as `x-custos-csrf` with every request of the session except GET'),
    ),
  },
  { title: 'Caller', description: 'Identity and rights of the caller' },
)
export type Caller = Static<typeof Caller>

export const PortalSession = Type.Object(
  {
    session_id: about(Hex12, 'Id of the session'),
    key_id: Nullable(text('Id of the API key it was made with; null: a person is signed in')),
    user_id: Nullable(text('Id of the person; null: the key is of nobody')),
    created_at: Timestamp,
    used_at: time('When it was last used, to the minute'),
    expires_at: time('When it ends, if not used'),
    current: boolean('Whether it is the session of this request'),
  },
  { title: 'PortalSession', description: 'A session of a browser' },
)
export type PortalSession = Static<typeof PortalSession>

export const identity = {
  sign_in: operation({
    id: 'identity.sign_in',
    method: 'POST',
    path: '/v1/portal/session',
    summary: 'Begins a session of a browser with an API key',
    description:
      'Use it for pages in a browser, which then need not keep the key. The reply sets a cookie ' +
      'that scripts cannot read. A session may do what its key may do, and ends with the key, ' +
      'after 8 hours without a request, and after 24 hours. Requests of a session that are not a ' +
      'GET need `x-custos-csrf` and come from a page of the service itself.',
    access: 'public',
    same_origin: true,
    body: Type.Object({
      api_key: text('The API key', { minLength: 1, maxLength: limits.api_key_chars }),
    }),
    example: { api_key: 'cst_t_0000000000000000000000000000000000' },
    status: 201,
    reply: Caller,
    refuses: ['unauthenticated', 'sso_enforced'],
  }),
  accept: operation({
    id: 'identity.accept',
    method: 'POST',
    path: '/v1/portal/invitation',
    summary: 'Takes an invitation and begins a session of the person',
    description:
      'Use it on the page where a person enters an invitation, which is taken once. Owners and ' +
      'admins then make a key of their own to sign in with later; others come back through a ' +
      'provider.',
    access: 'public',
    same_origin: true,
    body: Type.Object({
      invitation: text('The invitation', { minLength: 1, maxLength: limits.invitation_chars }),
    }),
    example: { invitation: `local.${'0'.repeat(43)}` },
    status: 201,
    reply: Caller,
    refuses: ['login_expired', 'sso_enforced'],
  }),
  me: operation({
    id: 'identity.me',
    method: 'GET',
    path: '/v1/portal/me',
    summary: 'Returns the identity and rights of the caller',
    description:
      'Use it when a page loads, to check whether a user is signed in. In local mode it needs ' +
      'no credential.',
    access: 'either',
    namespaced: true,
    status: 200,
    reply: Caller,
    refuses: [],
  }),
  logout: operation({
    id: 'identity.logout',
    method: 'POST',
    path: '/v1/portal/logout',
    summary: 'Ends the session of this request and removes its cookie',
    description: 'Use it when a person leaves. A request without a session ends nothing.',
    access: 'either',
    namespaced: true,
    status: 200,
    reply: Type.Object({ ended: boolean('Whether there was a session') }),
    refuses: [],
  }),
  sessions: operation({
    id: 'identity.sessions',
    method: 'GET',
    path: '/v1/portal/sessions',
    summary: 'Lists the sessions that have not ended, newest first',
    description: 'Use it to see who is signed in. A key limited to stores sees its own sessions.',
    access: 'tenant',
    scope: 'keys:admin',
    query: Type.Object({ limit: Limit(limits.page), offset: Offset, cursor: Cursor }),
    status: 200,
    reply: page('sessions', PortalSession),
    refuses: ['rejected'],
  }),
  revoke_session: operation({
    id: 'identity.revoke_session',
    method: 'DELETE',
    path: '/v1/portal/sessions/{session_id}',
    summary: 'Ends a session with immediate effect',
    description: 'Use it when a browser was left behind or its cookie may have leaked.',
    access: 'tenant',
    scope: 'keys:admin',
    params: Type.Object({ session_id: about(Hex12, 'Id of the session') }),
    status: 200,
    reply: Type.Object({
      session_id: about(Hex12, 'Id of the session'),
      revoked: Type.Literal(true, { description: 'Always true' }),
    }),
    refuses: ['session_not_found'],
  }),
  invite: operation({
    id: 'identity.invite',
    method: 'POST',
    path: '/v1/cloud/tenants/{tenant_id}/users',
    summary: 'Invites a person to the tenant',
    description:
      'Use it to give a person an account; an operator invites the first owner. The invitation ' +
      'is shown once, can be taken for 7 days, and is sent to the person by you. Nobody grants ' +
      'a role that may do more than they may themselves.',
    access: 'operator_or_self',
    scope: 'sso:admin',
    params: Type.Object({ tenant_id: pathId({ description: 'Id of the tenant' }) }),
    body: Type.Object({
      email: about(Email, 'The e-mail address of the person'),
      name: Type.Optional(about(PersonName, 'The name of the person')),
      roles: about(Roles, 'What the person may do'),
      stores: Type.Optional(
        Type.Array(Label, {
          description: 'Stores the person may use; default: those of the caller',
          minItems: 1,
          maxItems: limits.user_stores,
        }),
      ),
    }),
    example: { email: 'ana@example.com', name: 'Ana', roles: ['auditor'] },
    status: 201,
    reply: Type.Object({
      user: about(User, 'The person'),
      invitation: text('Taken by `identity.accept`; shown once'),
    }),
    refuses: ['tenant_not_found', 'store_not_found', 'name_taken', 'too_many', 'tenant_destroyed'],
  }),
  users: operation({
    id: 'identity.users',
    method: 'GET',
    path: '/v1/portal/users',
    summary: 'Lists the people of the tenant, oldest first',
    description: 'Use it to review who has access.',
    access: 'tenant',
    scope: 'sso:admin',
    query: Type.Object({ limit: Limit(limits.page), offset: Offset, cursor: Cursor }),
    status: 200,
    reply: page('users', User),
    refuses: ['rejected'],
  }),
  update_user: operation({
    id: 'identity.update_user',
    method: 'PUT',
    path: '/v1/portal/users/{user_id}',
    summary: 'Changes the roles or the name of a person',
    description:
      'Use it when somebody takes on other work. With other roles the sessions of the person ' +
      'end, and so do their keys that may do more than the new roles. Absent fields stay.',
    access: 'tenant',
    scope: 'sso:admin',
    params: Type.Object({ user_id: about(Hex12, 'Id of the person') }),
    body: Type.Object({
      name: Type.Optional(about(PersonName, 'The name of the person')),
      roles: Type.Optional(about(Roles, 'What the person may do')),
    }),
    example: { roles: ['viewer'] },
    status: 200,
    reply: User,
    refuses: ['user_not_found', 'last_owner', 'wrong_state'],
  }),
  remove_user: operation({
    id: 'identity.remove_user',
    method: 'DELETE',
    path: '/v1/portal/users/{user_id}',
    summary: 'Removes a person: sessions end, name and address are destroyed',
    description:
      'Use it when somebody leaves. Their keys are revoked unless `keep_keys` says otherwise. ' +
      'The audit log and approvals keep the id of the person.',
    access: 'tenant',
    scope: 'sso:admin',
    params: Type.Object({ user_id: about(Hex12, 'Id of the person') }),
    query: Type.Object({
      keep_keys: Type.Optional(
        Type.Boolean({ default: false, description: 'Whether keys the person made stay valid' }),
      ),
    }),
    status: 200,
    reply: Type.Object({
      user_id: about(Hex12, 'Id of the person'),
      removed: Type.Literal(true, { description: 'Always true' }),
      revoked_keys: count('Keys of the person that were revoked'),
    }),
    refuses: ['user_not_found', 'last_owner'],
  }),
  verify_domain: operation({
    id: 'identity.verify_domain',
    method: 'POST',
    path: '/v1/portal/sso/connections/{connection_id}/verify-domain',
    summary:
      'Confirms a domain of e-mail addresses by a TXT record that only its owner can publish',
    description:
      'Use it twice: the first reply names the record to publish, the next one finds it. The ' +
      'domain is then that of the connection, as by `identity.set_domains`: an invitation to an ' +
      'address of it can be taken by signing in. The caller may do what an `owner` may. It can ' +
      'be used 10 times a minute.',
    access: 'tenant',
    scope: 'sso:admin',
    params: Connected,
    body: Type.Object({ domain: about(Domain, 'The domain, without subdomains of it') }),
    example: { domain: 'example.com' },
    status: 200,
    reply: Type.Object({
      domain: text('The domain'),
      verified: boolean('Whether the domain is that of the connection'),
      problem: about(
        Nullable(
          Type.Enum(['record_missing', 'unreachable'], {
            title: 'DomainProblem',
            description: '`unreachable`: no name server answers for the domain',
          }),
        ),
        'Why it is not; null: it is',
      ),
      record: Type.Object(
        {
          name: text('Where it is published: the domain itself'),
          type: Type.Literal('TXT', { description: 'Always TXT' }),
          value: text('Its text; it stays the same for the connection and the domain'),
        },
        { title: 'DomainRecord', description: 'The record to publish' },
      ),
    }),
    refuses: ['connection_not_found', 'name_taken', 'too_many'],
  }),
  drop_domain: operation({
    id: 'identity.drop_domain',
    method: 'DELETE',
    path: '/v1/portal/sso/connections/{connection_id}/domains/{domain}',
    summary: 'Removes an e-mail domain from a connection',
    description:
      'Use it when you give up the domain, or to verify it for another connection. Signing in ' +
      'no longer accepts invitations to its addresses, and `identity.authorize` no longer ' +
      'finds the connection by it. People who have signed in and their sessions stay.',
    access: 'tenant',
    scope: 'sso:admin',
    params: Type.Object({
      connection_id: about(Hex12, 'Id of the connection'),
      domain: about(Domain, 'The domain'),
    }),
    status: 200,
    reply: SsoConnection,
    refuses: ['connection_not_found', 'domain_not_found'],
  }),
  set_domains: operation({
    id: 'identity.set_domains',
    method: 'PUT',
    path: '/v1/cloud/tenants/{tenant_id}/sso/connections/{connection_id}/domains',
    summary: 'Confirms that domains of e-mail addresses belong to a connection',
    description:
      'Use it as an operator, after you have seen that the tenant owns them. An invitation to an ' +
      'address of such a domain can be taken by signing in with this provider, which must say ' +
      'that it has verified the address. A domain belongs to one connection.',
    access: 'operator',
    params: Type.Object({
      tenant_id: text('Id of the tenant'),
      connection_id: about(Hex12, 'Id of the connection'),
    }),
    body: Type.Object({ domains: about(Domains, 'All domains of the connection') }),
    example: { domains: ['example.com'] },
    status: 200,
    reply: SsoConnection,
    refuses: ['tenant_not_found', 'connection_not_found', 'name_taken'],
  }),
  ...sso,
} as const
