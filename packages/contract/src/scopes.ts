// The scope vocabulary of the service and the scopes each credential class starts with.

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
  'sso:admin',
  'admin:platform',
  '*',
] as const

export type Scope = (typeof SCOPES)[number]

/** Classes of API keys. `operator` keys belong to the platform, all others to one tenant. */
export const CREDENTIAL_CLASSES = ['tenant', 'read_only', 'service', 'operator'] as const

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

/** Scopes of a key created without a list of its own. */
export const DEFAULT_SCOPES: Readonly<Record<CredentialClass, readonly Scope[]>> = {
  tenant: ['*'],
  read_only: READ_SCOPES,
  service: [...READ_SCOPES, 'memory:write', 'decisions:write', 'cgr:write'],
  operator: ['admin:platform'],
}

/**
 * Whether a tenant credential with `granted` may do what needs `required`.
 * `*` covers every tenant scope and never `admin:platform`: operators are a class of their own.
 */
export function scopeCovers(granted: readonly Scope[], required: Scope): boolean {
  if (granted.includes(required)) return true
  return required !== 'admin:platform' && granted.includes('*')
}
