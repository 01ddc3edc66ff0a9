// Single sign-on: connections to OpenID providers, and how people sign in through them.

import Type, { type Static } from 'typebox'
import {
  about,
  boolean,
  Cursor,
  Hex12,
  Limit,
  label,
  Name,
  Nullable,
  Offset,
  page,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import { ROLES } from '../core/scopes.ts'

/** Signature algorithms of ID tokens. All are asymmetric: none uses a shared secret. */
export const SSO_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const
/** How the service authenticates to the provider as the client. */
const SSO_AUTH_METHODS = [
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
  'none',
] as const

const Role = Type.Enum(ROLES, {
  title: 'Role',
  description: 'What a person may do; each role is a list of scopes, see docs/people.md',
})
export const Connected = Type.Object({ connection_id: about(Hex12, 'Id of the connection') })
const Secret = text('The client secret; stored sealed and never returned', {
  minLength: 1,
  maxLength: limits.sso_secret_chars,
})
const ClaimPath = Type.Array(label({ description: 'Name of a member' }), {
  title: 'ClaimPath',
  description: 'Path to the claim: `["resource_access", "custos", "roles"]`',
  minItems: 1,
  maxItems: limits.sso_claim_depth,
})
const RoleMap = Type.Array(
  Type.Object(
    {
      value: label({ description: 'A value of the claim, compared exactly' }),
      role: about(Role, 'The role of people with this value'),
    },
    {
      title: 'RoleMapping',
      description: 'The role that a value of the claim gives',
      additionalProperties: false,
    },
  ),
  { title: 'RoleMap', description: 'Roles by values of the claim', maxItems: limits.sso_role_map },
)
const Algorithms = Type.Array(
  Type.Enum(SSO_ALGORITHMS, {
    title: 'SsoAlgorithm',
    description: 'A signature algorithm of ID tokens',
  }),
  {
    title: 'SsoAlgorithms',
    description: 'Accepted signature algorithms of ID tokens',
    minItems: 1,
    maxItems: SSO_ALGORITHMS.length,
  },
)
const OidcScopes = Type.Array(label({ pattern: '^[!#-\\[\\]-~]+$' }), {
  title: 'OidcScopes',
  description: 'Scopes to request from the provider, besides `openid`',
  maxItems: limits.sso_scopes,
})
export const Domain = text('A domain in lower case', {
  pattern: '^[a-z0-9-]+(\\.[a-z0-9-]+)+$',
  maxLength: 253,
})
export const Domains = Type.Array(Domain, { maxItems: limits.sso_domains })
const Directories = Type.Array(
  text('Id of a directory (tenant) of Microsoft, in lower case', {
    pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
  }),
  { title: 'SsoDirectories', maxItems: limits.sso_directories },
)
const AuthMethod = Type.Enum(SSO_AUTH_METHODS, {
  title: 'SsoAuthMethod',
  description:
    'How the service authenticates to the provider; `private_key_jwt`: with a key that the ' +
    'service generates and whose public part you register there',
})

/** Settings that may be changed later. */
const settings = {
  scopes: about(OidcScopes, 'What is asked of the provider besides `openid`'),
  algorithms: about(Algorithms, 'Accepted signature algorithms of ID tokens'),
  role_claim: about(
    Nullable(ClaimPath),
    'Claim that determines the role at every sign-in; null: people keep their roles',
  ),
  role_map: about(RoleMap, 'Roles by values of the claim'),
  default_role: about(
    Nullable(Role),
    'Role of people without a mapped value; null: their sign-in is refused',
  ),
  allow_owner: boolean('Whether a mapped value or the default may grant `owner`'),
  create_users: boolean('Whether people may sign in without an invitation'),
  directories: about(
    Directories,
    'Directories whose people may sign in, of an issuer of `common` or `organizations`; empty: ' +
      'the issuer is that of one organisation',
  ),
  enforced: boolean('Whether people of the tenant can sign in through a provider only'),
  enabled: boolean('Whether people can sign in through it; `false` ends its sessions'),
}

const PublicJwk = Type.Object(
  {
    kty: text('Key type'),
    crv: text('Curve'),
    x: text('Coordinate'),
    y: text('Coordinate'),
    kid: text('Id of the key'),
    alg: text('Algorithm'),
    use: text('Use of the key'),
  },
  { title: 'SsoPublicKey', description: 'A public key (RFC 7517)' },
)

export const SsoConnection = Type.Object(
  {
    connection_id: about(Hex12, 'Id of the connection'),
    name: text('What people see on the sign-in page'),
    issuer: text('The issuer, as its discovery document names it'),
    client_id: text('The client id at the provider'),
    auth_method: AuthMethod,
    public_jwk: about(
      Nullable(PublicJwk),
      'The key to register at the provider; null: the client has none',
    ),
    ...settings,
    domains: about(Domains, 'Verified e-mail domains of the connection'),
    redirect_uri: text('The redirect URI to register at the provider'),
    backchannel_logout_uri: text('The back-channel logout URI to register at the provider'),
    created_at: Timestamp,
    changed_at: time('When it was last changed'),
  },
  { title: 'SsoConnection', description: 'A connection of the tenant to an OpenID provider' },
)
export type SsoConnection = Static<typeof SsoConnection>

const NewConnection = Type.Object(
  {
    name: about(Name, 'What people see on the sign-in page'),
    issuer: text('The issuer: `https`, without query and fragment', {
      minLength: 1,
      maxLength: limits.sso_issuer_chars,
    }),
    client_id: label({ description: 'The client id at the provider' }),
    client_secret: Type.Optional(Secret),
    auth_method: Type.Optional(AuthMethod),
    scopes: Type.Optional(settings.scopes),
    algorithms: Type.Optional(settings.algorithms),
    role_claim: Type.Optional(settings.role_claim),
    role_map: Type.Optional(settings.role_map),
    default_role: Type.Optional(settings.default_role),
    allow_owner: Type.Optional(settings.allow_owner),
    create_users: Type.Optional(settings.create_users),
    directories: Type.Optional(settings.directories),
    enforced: Type.Optional(settings.enforced),
    enabled: Type.Optional(settings.enabled),
  },
  { title: 'NewSsoConnection', description: 'A connection to make' },
)

const newExample = {
  name: 'Example Corp',
  issuer: 'https://login.example.com',
  client_id: 'custos',
  client_secret: 'a-secret-of-the-provider',
  role_claim: ['groups'],
  role_map: [{ value: 'custos-auditors', role: 'auditor' }],
  default_role: 'viewer',
  create_users: true,
}

const creation = {
  access: 'tenant',
  scope: 'sso:admin',
  body: NewConnection,
  example: newExample,
  status: 201,
  reply: SsoConnection,
  refuses: ['url_refused', 'rejected', 'too_many'],
} as const

export const sso = {
  providers: operation({
    id: 'identity.providers',
    method: 'GET',
    path: '/v1/portal/sso/providers',
    summary: 'Lists the providers that people of a tenant can sign in with',
    description:
      'Use it on a sign-in page. Only connections that are configured and enabled are listed; a ' +
      'tenant that does not exist has none.',
    access: 'public',
    query: Type.Object({ tenant: label({ description: 'Id of the tenant' }) }),
    status: 200,
    reply: Type.Object({
      providers: Type.Array(
        Type.Object(
          {
            connection_id: about(Hex12, 'Given to `identity.authorize`'),
            name: text('What people see'),
          },
          { title: 'SsoProvider', description: 'A provider that people can sign in with' },
        ),
        { description: 'Oldest first' },
      ),
    }),
    refuses: [],
  }),
  authorize: operation({
    id: 'identity.authorize',
    method: 'GET',
    path: '/v1/portal/sso/authorize',
    summary: 'Leads the browser to the provider to sign in',
    description:
      'Use it as a link of a sign-in page, by `connection_id`, or by `domain`: that of the ' +
      "person's e-mail address, where an operator has confirmed it. It can be used 10 times a " +
      'minute from one block of addresses. Without a `challenge` a link on a page of another ' +
      'site is refused.',
    access: 'public',
    headers: { 'sec-fetch-site': 'Where the link was, as the browser says' },
    query: Type.Object({
      connection_id: Type.Optional(label({ description: 'Id of the connection' })),
      domain: Type.Optional(label({ description: 'A confirmed domain' })),
      return_to: Type.Optional(
        text(
          'Where to go after it: a path of the service, or a URL of an origin in ' +
            '`CUSTOS_CONSOLE_ORIGINS`, which gets a one-time `code`; default: the console',
          { maxLength: limits.sso_return_chars },
        ),
      ),
      challenge: Type.Optional(
        text('For another origin: base64url of the SHA-256 of the `verifier`', {
          pattern: '^[A-Za-z0-9_-]{43}$',
        }),
      ),
    }),
    status: 302,
    reply: Type.Null({ description: 'Nothing: see `Location`' }),
    refuses: ['sso_not_configured', 'idp_unavailable', 'rejected'],
  }),
  callback: operation({
    id: 'identity.callback',
    method: 'GET',
    path: '/v1/portal/sso/callback',
    once: true,
    summary: 'Handles the redirect of the provider and begins a session',
    description:
      'The redirect URI of every connection. The provider redirects to it once, in the browser ' +
      'that began the sign-in. The reason for a refused sign-in is on the audit log only.',
    access: 'public',
    query: Type.Object(
      {
        state: Type.Optional(
          Type.String({
            description: 'State parameter of the sign-in',
            maxLength: limits.sso_answer_chars,
          }),
        ),
        code: Type.Optional(
          Type.String({
            description: 'The authorization code',
            maxLength: limits.sso_answer_chars,
          }),
        ),
        iss: Type.Optional(
          Type.String({
            description: 'The issuer (RFC 9207)',
            maxLength: limits.sso_answer_chars,
          }),
        ),
        error: Type.Optional(
          Type.String({
            description: 'Error code of the provider (OAuth 2.0)',
            maxLength: limits.sso_answer_chars,
          }),
        ),
      },
      // Providers may add their own members (RFC 6749, 4.1.2).
      { additionalProperties: true },
    ),
    status: 302,
    reply: Type.Null({ description: 'Nothing: see `Location`' }),
    refuses: [
      'login_expired',
      'login_refused',
      'not_invited',
      'role_unmapped',
      'idp_unavailable',
      'too_many',
    ],
  }),
  exchange: operation({
    id: 'identity.exchange',
    method: 'POST',
    path: '/v1/portal/sso/exchange',
    summary: 'Exchanges the one-time code of a sign-in for a session',
    description:
      'Use it on a page of an origin in `CUSTOS_CONSOLE_ORIGINS` after `identity.authorize`. The ' +
      'code is used once, within 60 seconds, with the verifier of its challenge.',
    access: 'public',
    same_origin: true,
    body: Type.Object({
      code: text('The code', { minLength: 1, maxLength: limits.invitation_chars }),
      verifier: text('The text whose SHA-256 is the challenge', {
        minLength: 43,
        maxLength: 128,
      }),
    }),
    example: { code: '0'.repeat(43), verifier: '0'.repeat(43) },
    status: 201,
    reply: Type.Object({
      session_id: about(Hex12, 'Id of the session'),
      csrf_token: text('Sent as `x-custos-csrf` with every request that is not a GET'),
    }),
    refuses: ['login_expired'],
  }),
  connections: operation({
    id: 'identity.connections',
    method: 'GET',
    path: '/v1/portal/sso/connections',
    summary: 'Lists the connections of the tenant, oldest first',
    description: 'Use it to review how people sign in. Secrets are not shown.',
    access: 'tenant',
    scope: 'sso:admin',
    query: Type.Object({ limit: Limit(limits.page), offset: Offset, cursor: Cursor }),
    status: 200,
    reply: page('connections', SsoConnection),
    refuses: ['rejected'],
  }),
  create_connection: operation({
    ...creation,
    id: 'identity.create_connection',
    method: 'POST',
    path: '/v1/portal/sso/connections',
    summary: 'Connects the tenant to an OpenID provider',
    description:
      'Use it once for each provider; a tenant has at most 20. Register the `redirect_uri` of ' +
      'the reply at the provider, then run `identity.test`. Nobody maps to a role that may do ' +
      'more than they may themselves. Issuer and client id cannot be changed later.',
  }),
  configure: operation({
    ...creation,
    id: 'identity.configure',
    method: 'POST',
    path: '/v1/portal/sso/configure',
    summary: 'Connects the tenant to an OpenID provider, as `identity.create_connection` does',
    description: 'Use `identity.create_connection`; existing clients know this path.',
  }),
  connection: operation({
    id: 'identity.connection',
    method: 'GET',
    path: '/v1/portal/sso/connections/{connection_id}',
    summary: 'Returns a connection',
    description: 'Use it to see what to register at the provider.',
    access: 'tenant',
    scope: 'sso:admin',
    params: Connected,
    status: 200,
    reply: SsoConnection,
    refuses: ['connection_not_found'],
  }),
  update_connection: operation({
    id: 'identity.update_connection',
    method: 'PUT',
    path: '/v1/portal/sso/connections/{connection_id}',
    summary: 'Changes a connection',
    description:
      'Use it to map roles, to replace the client secret, or to switch the connection off, which ' +
      'ends its sessions. Absent fields stay.',
    access: 'tenant',
    scope: 'sso:admin',
    params: Connected,
    body: Type.Object({
      name: Type.Optional(about(Name, 'What people see on the sign-in page')),
      client_secret: Type.Optional(Secret),
      scopes: Type.Optional(settings.scopes),
      algorithms: Type.Optional(settings.algorithms),
      role_claim: Type.Optional(settings.role_claim),
      role_map: Type.Optional(settings.role_map),
      default_role: Type.Optional(settings.default_role),
      allow_owner: Type.Optional(settings.allow_owner),
      create_users: Type.Optional(settings.create_users),
      directories: Type.Optional(settings.directories),
      enforced: Type.Optional(settings.enforced),
      enabled: Type.Optional(settings.enabled),
    }),
    example: { default_role: 'viewer' },
    status: 200,
    reply: SsoConnection,
    refuses: ['connection_not_found', 'rejected', 'wrong_state'],
  }),
  delete_connection: operation({
    id: 'identity.delete_connection',
    method: 'DELETE',
    path: '/v1/portal/sso/connections/{connection_id}',
    summary: 'Deletes a connection: its sessions end, its secret is destroyed',
    description: 'Use it when a provider is left. The people stay, and cannot sign in with it.',
    access: 'tenant',
    scope: 'sso:admin',
    params: Connected,
    status: 200,
    reply: Type.Object({
      connection_id: about(Hex12, 'Id of the connection'),
      deleted: Type.Literal(true, { description: 'Always true' }),
    }),
    refuses: ['connection_not_found'],
  }),
  test: operation({
    id: 'identity.test',
    method: 'POST',
    path: '/v1/portal/sso/connections/{connection_id}/test',
    summary: 'Reads the discovery document and the keys of the provider, and says what is wrong',
    description: 'Use it after a connection was made. Nobody is signed in and nothing changes.',
    access: 'tenant',
    scope: 'sso:admin',
    safe: true,
    params: Connected,
    status: 200,
    reply: Type.Object({
      ok: boolean('Whether people can be led to the provider'),
      problem: about(
        Nullable(
          Type.Enum(
            [
              'unreachable',
              'not_a_provider',
              'issuer_differs',
              'no_code_flow',
              'no_common_algorithm',
              'no_keys',
            ],
            { title: 'SsoProblem', description: 'What is wrong with a provider' },
          ),
        ),
        'What is wrong; null: nothing',
      ),
      keys: Type.Integer({ minimum: 0, description: 'Keys that the provider publishes' }),
    }),
    refuses: ['connection_not_found'],
  }),
  backchannel: operation({
    id: 'identity.backchannel',
    method: 'POST',
    path: '/v1/portal/sso/backchannel-logout',
    summary: 'Ends the sessions that a logout token of a provider names',
    description:
      'The back-channel logout URI of a connection (OpenID Connect Back-Channel Logout 1.0). It ' +
      'is called by the provider; a token is taken once, and answered with 400 if it is not taken.',
    access: 'public',
    query: Type.Object({ connection_id: label({ description: 'Id of the connection' }) }),
    raw_body: true,
    body_bytes_max: 64 * 1024,
    status: 200,
    reply: Type.Object({
      ended: Type.Integer({ minimum: 0, description: 'Sessions that were ended' }),
    }),
    refuses: [],
  }),
} as const
