// The scopes of the service and the default scopes of each class of credential.

export const SCOPES = [
  'memory:read',
  'memory:write',
  'memory:admin',
  'decisions:read',
  'decisions:write',
  'erasure:execute',
  'gcrumbs:read',
  'gcrumbs:admin',
  'governance:read',
  'governance:admin',
  'artifacts:read',
  'artifacts:admin',
  'compliance:read',
  'compliance:admin',
  'manifold:read',
  'cgr:read',
  'cgr:write',
  'keys:admin',
  'webhooks:admin',
  'orchestrator:run',
  'orchestrator:admin',
  'llm:admin',
  'sso:admin',
  'admin:platform',
  '*',
] as const

export type Scope = (typeof SCOPES)[number]

/**
 * Classes of API keys. `operator` keys belong to the platform, all others to one tenant; a `token`
 * is short-lived and limited to one store and namespace.
 */
export const CREDENTIAL_CLASSES = ['tenant', 'read_only', 'service', 'operator', 'token'] as const

export type CredentialClass = (typeof CREDENTIAL_CLASSES)[number]

const READ_SCOPES: readonly Scope[] = [
  'memory:read',
  'decisions:read',
  'gcrumbs:read',
  'governance:read',
  'artifacts:read',
  'compliance:read',
  'manifold:read',
  'cgr:read',
]

/** The scopes a token may have. */
export const TOKEN_SCOPES = ['memory:read', 'memory:write'] as const satisfies readonly Scope[]

/** Scopes of a key that is created without a list of scopes. */
export const DEFAULT_SCOPES: Readonly<Record<CredentialClass, readonly Scope[]>> = {
  tenant: ['*'],
  read_only: READ_SCOPES,
  service: [...READ_SCOPES, 'memory:write', 'decisions:write', 'cgr:write'],
  operator: ['admin:platform'],
  token: TOKEN_SCOPES,
}

/** The roles of people in a tenant. Each role is a list of scopes. */
export const ROLES = [
  'owner',
  'admin',
  'operator_of_stores',
  'approver',
  'auditor',
  'viewer',
] as const
export type Role = (typeof ROLES)[number]

export const ROLE_SCOPES: Readonly<Record<Role, readonly Scope[]>> = {
  owner: ['*'],
  admin: SCOPES.filter((scope) => scope !== '*' && scope !== 'admin:platform'),
  operator_of_stores: [
    ...READ_SCOPES,
    'memory:write',
    'memory:admin',
    'decisions:write',
    'erasure:execute',
  ],
  approver: [...READ_SCOPES, 'artifacts:admin', 'compliance:admin'],
  auditor: READ_SCOPES,
  viewer: ['memory:read', 'decisions:read', 'artifacts:read', 'manifold:read', 'cgr:read'],
}

/**
 * Whether a tenant credential with the scopes `granted` may run an operation with `required`.
 * `*` covers every tenant scope but never `admin:platform`, which only operators have.
 */
export function scopeCovers(granted: readonly Scope[], required: Scope): boolean {
  if (granted.includes(required)) return true
  return required !== 'admin:platform' && granted.includes('*')
}
