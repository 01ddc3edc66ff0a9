// The verifiable chain (interface 4.5): a transparency log per tenant, RFC 6962 and C2SP formats.

import Type, { type Static } from 'typebox'
import {
  Base64,
  Cursor,
  Hex32,
  JsonObject,
  Limit,
  Nullable,
  Offset,
  page,
  Timestamp,
} from './common.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

const Seq = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const EpochNumber = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

/** One entry of the log; the leaf is the JCS of it without `breadcrumb_id`. */
export const Breadcrumb = Type.Object({
  breadcrumb_id: Hex32,
  tenant_id: Type.String(),
  seq: Seq,
  event_type: Type.String(),
  subject: Type.String(),
  payload: JsonObject,
  prev_id: Hex32,
  created_at: Timestamp,
})
export type Breadcrumb = Static<typeof Breadcrumb>

const Consistency = Type.Object({
  from_epoch: EpochNumber,
  from_size: Seq,
  path: Type.Array(Hex32),
})

/** A signed checkpoint in C2SP form. */
export const Epoch = Type.Object({
  epoch_number: EpochNumber,
  generation: Type.Integer({ minimum: 0 }),
  origin: Type.String(),
  tree_size: Seq,
  root_hash: Hex32,
  checkpoint: Type.String(),
  consistency: Nullable(Consistency),
  created_at: Timestamp,
  rolled: Type.Optional(Type.Boolean()),
  merkle_root: Hex32,
  n_leaves: Seq,
})
export type Epoch = Static<typeof Epoch>

const InclusionProof = Type.Object({
  included: Type.Boolean(),
  breadcrumb_seq: Seq,
  epoch_number: EpochNumber,
  reason: Type.Optional(Type.String()),
  breadcrumb: Type.Optional(Breadcrumb),
  leaf_hash: Type.Optional(Hex32),
  audit_path: Type.Optional(Type.Array(Hex32)),
  tree_size: Type.Optional(Seq),
  root_hash: Type.Optional(Hex32),
  checkpoint: Type.Optional(Type.String()),
  tlog_proof: Type.Optional(Type.String()),
  leaf: Type.Optional(Hex32),
  proof: Type.Optional(Type.Array(Hex32)),
  merkle_root: Type.Optional(Hex32),
})

export const PublishedKey = Type.Object({
  key_id: Type.String(),
  purpose: Type.String(),
  public_key: Hex32,
  valid_from: Timestamp,
  retired_at: Nullable(Timestamp),
})

const PublicKeys = Type.Object({
  public_key: Hex32,
  key_id: Type.String(),
  origin: Type.String(),
  keys: Type.Array(PublishedKey),
})

const ChainVerification = Type.Object({
  status: Type.Enum(['intact', 'empty', 'tampered']),
  breadcrumbs_verified: Type.Integer(),
  epochs_verified: Type.Integer(),
  from_seq: Type.Integer(),
  tree_size: Type.Integer(),
  root_hash: Nullable(Hex32),
  reason: Type.Optional(Type.String()),
  at_seq: Type.Optional(Type.Integer()),
  tampered_at: Type.Optional(Type.Integer()),
  epoch_number: Type.Optional(Type.Integer()),
})
export type ChainVerification = Static<typeof ChainVerification>

const Verification = Type.Object({
  valid: Type.Boolean(),
  type: Type.String(),
  reason: Type.Optional(Type.String()),
  checks: Type.Array(
    Type.Object({
      name: Type.String(),
      ok: Type.Boolean(),
      detail: Type.Optional(Type.String()),
    }),
  ),
})

const read = { access: 'tenant', scope: 'gcrumbs:read', method: 'GET', status: 200 } as const
const EpochParams = Type.Object({ epoch_number: EpochNumber })

export const gcrumbs = {
  public_key: operation({
    id: 'gcrumbs.public_key',
    method: 'GET',
    path: '/v1/gcrumbs/public_key',
    summary: 'The current log key and the list of all signing keys, retired ones included',
    access: 'public',
    status: 200,
    reply: PublicKeys,
    refuses: ['no_signing_key'],
  }),
  verify_key: operation({
    id: 'gcrumbs.verify_key',
    method: 'GET',
    path: '/v1/gcrumbs/verify/key',
    summary: 'The current log key in hex and base64',
    access: 'public',
    status: 200,
    reply: Type.Object({
      algorithm: Type.Literal('ed25519'),
      public_key_hex: Hex32,
      public_key_b64: Base64,
      key_id: Type.String(),
    }),
    refuses: ['no_signing_key'],
  }),
  roll: operation({
    id: 'gcrumbs.roll',
    method: 'POST',
    path: '/v1/gcrumbs/roll',
    summary: 'Signs a checkpoint over the log; with nothing new it answers the current one',
    access: 'tenant',
    scope: 'gcrumbs:admin',
    body: Type.Object({}),
    body_optional: true,
    status: 200,
    reply: Epoch,
    refuses: ['chain_empty', 'no_signing_key'],
    idempotent: true,
  }),
  breadcrumbs: operation({
    ...read,
    id: 'gcrumbs.breadcrumbs',
    path: '/v1/gcrumbs/breadcrumbs',
    summary: 'Entries of the log, oldest first',
    query: Type.Object({ limit: Limit(limits.page), offset: Offset, cursor: Cursor }),
    reply: page('breadcrumbs', Breadcrumb),
    refuses: ['rejected'],
  }),
  epochs: operation({
    ...read,
    id: 'gcrumbs.epochs',
    path: '/v1/gcrumbs/epochs',
    summary: 'Signed checkpoints, oldest first',
    query: Type.Object({ limit: Limit(limits.page), offset: Offset, cursor: Cursor }),
    reply: page('epochs', Epoch),
    refuses: ['rejected'],
  }),
  epoch: operation({
    ...read,
    id: 'gcrumbs.epoch',
    path: '/v1/gcrumbs/epochs/{epoch_number}',
    summary: 'One signed checkpoint with its consistency proof from the one before',
    params: EpochParams,
    reply: Epoch,
    refuses: ['epoch_not_found'],
  }),
  proof: operation({
    ...read,
    id: 'gcrumbs.proof',
    path: '/v1/gcrumbs/epochs/{epoch_number}/proof',
    summary: 'Proof that an entry is in the log a checkpoint signs',
    params: EpochParams,
    query: Type.Object({ seq: Seq }),
    reply: InclusionProof,
    refuses: ['epoch_not_found'],
  }),
  consistency: operation({
    ...read,
    id: 'gcrumbs.consistency',
    path: '/v1/gcrumbs/epochs/{epoch_number}/consistency',
    summary: 'Proof that an earlier checkpoint is a prefix of this one',
    params: EpochParams,
    query: Type.Object({ from: EpochNumber }),
    reply: Type.Object({
      from_epoch: EpochNumber,
      to_epoch: EpochNumber,
      from_size: Seq,
      to_size: Seq,
      from_root: Hex32,
      to_root: Hex32,
      path: Type.Array(Hex32),
      from_checkpoint: Type.String(),
      to_checkpoint: Type.String(),
    }),
    refuses: ['epoch_not_found', 'rejected'],
  }),
  verify: operation({
    ...read,
    id: 'gcrumbs.verify',
    path: '/v1/gcrumbs/verify',
    summary: 'Re-derives the log from its entries and checks every checkpoint',
    query: Type.Object({ full: Type.Optional(Type.Boolean({ default: false })) }),
    reply: ChainVerification,
    refuses: [],
  }),
  verify_envelope: operation({
    id: 'gcrumbs.verify_envelope',
    method: 'POST',
    path: '/v1/gcrumbs/verify',
    summary: 'Checks a proof, epoch, certificate, decision or entries somebody else holds',
    access: 'public',
    body: JsonObject,
    body_bytes_max: limits.verify_body_bytes,
    status: 200,
    reply: Verification,
    refuses: [],
  }),
  stats: operation({
    ...read,
    id: 'gcrumbs.stats',
    path: '/v1/gcrumbs/stats',
    summary: 'Counts of entries and checkpoints',
    reply: Type.Object({
      total_breadcrumbs: Type.Integer(),
      total_epochs: Type.Integer(),
      generation: Type.Integer(),
      last_epoch: Nullable(Epoch),
    }),
    refuses: [],
  }),
} as const
