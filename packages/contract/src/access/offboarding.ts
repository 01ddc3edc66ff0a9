// Off-boarding: destroys the keys of a tenant, certifies that, and removes its rows.

import Type, { type Static } from 'typebox'
import {
  about,
  Base64,
  boolean,
  Count,
  count,
  Hex16,
  Hex32,
  Label,
  Nullable,
  TenantParams,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { cosignatureMembers } from '../core/cosignatures.ts'
import { operation } from '../core/operation.ts'
import { ErasureVerification, erasureReasons } from '../erasure/erasure.ts'

/** Signed as a record of the kind `tenant_erasure`. */
export const TenantCertificate = Type.Object(
  {
    record_kind: Type.Literal('tenant_erasure', { description: 'Kind of signed record' }),
    certificate_id: Hex16,
    tenant_id: Type.String(),
    counts: Type.Record(Type.String(), Count, {
      description: 'What the tenant had when its keys were destroyed, by kind',
    }),
    destroyed: Type.Record(Type.String(), Type.String(), {
      description: 'What was destroyed, by kind',
    }),
    verification: ErasureVerification,
    last_checkpoint: Type.Object(
      {
        epoch_number: count('Number of the checkpoint'),
        tree_size: count('Entries of the audit log it signs'),
        root_hash: about(Hex32, 'Merkle root of the audit log'),
        checkpoint: text('The signed checkpoint in C2SP form'),
      },
      { description: 'The last signed checkpoint of the audit log' },
    ),
    remains: Type.Array(Type.String(), { description: 'What remains after the off-boarding' }),
    limits: Type.Array(Type.String(), { description: 'What the certificate does not cover' }),
    legal_basis: Type.String(),
    requested_by: Nullable(text('Who requested the off-boarding, as given')),
    erasure_requested_at: Timestamp,
    erasure_completed_at: Timestamp,
    log_seq: Count,
    signature: Base64,
    public_key: Base64,
    key_id: Type.String(),
  },
  { title: 'TenantCertificate', description: 'The signed certificate of an off-boarding' },
)
export type TenantCertificate = Static<typeof TenantCertificate>

/** `destroying` ends in seconds, or after the service's next start. `removal` may take longer. */
export const Destruction = Type.Object(
  {
    tenant_id: Type.String(),
    status: Type.Enum(['destroying', 'destroyed'], {
      description: '`destroying` lasts seconds, or until the next start of the service',
    }),
    requested_at: time('When the off-boarding was requested'),
    destroyed_at: Nullable(time('When the keys were destroyed')),
    certificate: Nullable(about(TenantCertificate, 'The certificate; null until it is signed')),
    verified: Nullable(boolean('Whether the certificate verifies now, with the published keys')),
    last_checkpoint: Nullable(
      Type.Object(
        { epoch_number: count('Number of the checkpoint'), ...cosignatureMembers },
        { description: 'What others signed of the last checkpoint; null until it is signed' },
      ),
    ),
    removal: Type.Object(
      {
        state: Type.Enum(['waiting', 'removing', 'removed'], { description: 'State' }),
        removed_at: Nullable(time('When the last row was removed')),
      },
      { description: 'Removal of the rows, which nobody can decrypt any more' },
    ),
  },
  { title: 'Destruction', description: 'The off-boarding of a tenant' },
)
export type Destruction = Static<typeof Destruction>

export const offboarding = {
  destroy_key: operation({
    id: 'offboarding.destroy_key',
    method: 'POST',
    path: '/v1/admin/tenants/{tenant_id}/destroy-key',
    summary: 'Off-boards a tenant: destroys all its keys permanently and issues a certificate',
    description:
      'Use it when a customer leaves. Afterwards nobody can read the data of the tenant, not ' +
      'even from restored backups, provided that they are started with the erasure ledger. It ' +
      'cannot be undone. A repeated request returns the same certificate.',
    access: 'operator',
    params: TenantParams,
    body: Type.Object({
      confirm: about(Label, 'The text `destroy ` followed by the id of the tenant'),
      ...erasureReasons,
    }),
    example: { confirm: 'destroy local', legal_basis: 'end of contract' },
    status: 200,
    reply: Destruction,
    refuses: ['tenant_not_found', 'rejected', 'legal_hold', 'wrong_state', 'no_signing_key'],
  }),
  destruction: operation({
    id: 'offboarding.destruction',
    method: 'GET',
    path: '/v1/admin/tenants/{tenant_id}/destruction',
    summary: 'Returns the certificate of an off-boarded tenant and the state of the removal',
    description: 'Use it to check whether the rows of the tenant have been removed.',
    access: 'operator',
    params: TenantParams,
    status: 200,
    reply: Destruction,
    refuses: ['tenant_not_found', 'certificate_not_found'],
  }),
} as const
