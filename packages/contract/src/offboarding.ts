// Off-boarding a tenant: its keys are destroyed, which is certified, and its rows removed.

import Type, { type Static } from 'typebox'
import { Base64, Hex16, Hex32, Label, Nullable, Timestamp } from './common.ts'
import { erasureReasons } from './erasure.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

const Count = Type.Integer({ minimum: 0 })

/** Signed as a record of the kind `tenant_erasure`. */
export const TenantCertificate = Type.Object({
  record_kind: Type.Literal('tenant_erasure'),
  certificate_id: Hex16,
  tenant_id: Type.String(),
  /** What there was when the keys were destroyed. */
  counts: Type.Record(Type.String(), Count),
  destroyed: Type.Record(Type.String(), Type.String()),
  verification: Type.Object({
    ran_at: Timestamp,
    paths: Type.Array(Type.Object({ path: Type.String(), result: Type.String() })),
  }),
  last_checkpoint: Type.Object({
    epoch_number: Count,
    tree_size: Count,
    root_hash: Hex32,
    checkpoint: Type.String(),
  }),
  remains: Type.Array(Type.String()),
  limits: Type.Array(Type.String()),
  legal_basis: Type.String(),
  requested_by: Nullable(Type.String()),
  erasure_requested_at: Timestamp,
  erasure_completed_at: Timestamp,
  log_seq: Count,
  signature: Base64,
  public_key: Base64,
  key_id: Type.String(),
})
export type TenantCertificate = Static<typeof TenantCertificate>

/** `destroying` ends within seconds, or after the next start; `removal` may take longer. */
export const Destruction = Type.Object({
  tenant_id: Type.String(),
  status: Type.Enum(['destroying', 'destroyed']),
  requested_at: Timestamp,
  destroyed_at: Nullable(Timestamp),
  certificate: Nullable(TenantCertificate),
  /** Whether the certificate verifies now, with the keys published now. */
  verified: Nullable(Type.Boolean()),
  /** Of the rows, which nobody can read any more. */
  removal: Type.Object({
    state: Type.Enum(['waiting', 'removing', 'removed']),
    removed_at: Nullable(Timestamp),
  }),
})
export type Destruction = Static<typeof Destruction>

const TenantParams = Type.Object({
  tenant_id: Type.String({ minLength: 1, maxLength: limits.label_chars, examples: ['local'] }),
})

export const offboarding = {
  destroy_key: operation({
    id: 'offboarding.destroy_key',
    method: 'POST',
    path: '/v1/admin/tenants/{tenant_id}/destroy-key',
    summary: 'Off-boards a tenant: destroys all its keys for good, and certifies it',
    description:
      'Nothing the tenant has stored can be read by anybody afterwards, also not from backups ' +
      'once they are started with the erasure ledger. It cannot be undone. `confirm` is the ' +
      'text `destroy ` and the id of the tenant. Asked again, it answers the same certificate.',
    access: 'operator',
    params: TenantParams,
    body: Type.Object({ confirm: Label, ...erasureReasons }),
    status: 200,
    reply: Destruction,
    refuses: ['tenant_not_found', 'rejected', 'legal_hold', 'wrong_state', 'no_signing_key'],
  }),
  destruction: operation({
    id: 'offboarding.destruction',
    method: 'GET',
    path: '/v1/admin/tenants/{tenant_id}/destruction',
    summary: 'The certificate of an off-boarded tenant, and whether its rows are removed',
    access: 'operator',
    params: TenantParams,
    status: 200,
    reply: Destruction,
    refuses: ['tenant_not_found', 'certificate_not_found'],
  }),
} as const
