// The declared bounds of whole-number parameters, read from the schemas.

import type { OperationSpec } from '@custos/contract'
import { operations } from './table.ts'
import { objectOf } from './wrong.ts'

export interface Bound {
  readonly operation: OperationSpec
  readonly name: string
  readonly min: number
  readonly max: number
}

/** Every integer query parameter with both bounds. */
export const queryBounds: readonly Bound[] = operations.flatMap((operation) =>
  Object.entries(objectOf(objectOf(operation.query)['properties'])).flatMap(([name, schema]) => {
    const { type, minimum, maximum } = objectOf(schema)
    if (type !== 'integer' || typeof minimum !== 'number' || typeof maximum !== 'number') return []
    return [{ operation, name, min: minimum, max: maximum }]
  }),
)

/** Limits held by tests beside the code: of people and sessions. */
export const HELD_BESIDE: readonly string[] = [
  'api_key_chars',
  'sessions_per_key',
  'users_per_tenant',
  // slices/identity/sso-connections.test.ts and the schemas of connections
  'sso_connections',
  'sso_issuer_chars',
  'sso_secret_chars',
  'sso_claim_depth',
  'sso_role_map',
  'sso_scopes',
  'sso_domains',
  'sso_directories',
  'sso_return_chars',
  'sso_answer_chars',
  'user_stores',
  'email_chars',
  'invitation_chars',
]
