// The audit log (interface 4.5): a transparency log per tenant in RFC 6962 and C2SP formats.

import Type, { type Static } from 'typebox'
import {
  about,
  Base64,
  boolean,
  Cursor,
  EmptyBody,
  Hex32,
  integer,
  JsonObject,
  Limit,
  NamedCheck,
  Nullable,
  Offset,
  page,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { cosignatureMembers } from '../core/cosignatures.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'

/** The most receipts in one request. */
export const VERIFY_RECEIPTS_MAX = 1_000

const Seq = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const EpochNumber = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

const size = (description: string) => ({ ...Seq, description })
const epochNumber = (description: string) => ({ ...EpochNumber, description })
const hashes = (description: string) => Type.Array(Hex32, { description })

/** One log entry. The tree leaf is its JCS without `breadcrumb_id`. */
export const Breadcrumb = Type.Object(
  {
    breadcrumb_id: about(Hex32, 'RFC 6962 leaf hash of the entry'),
    tenant_id: Type.String(),
    seq: size('Position in the audit log, from 0'),
    event_type: text('Kind of event, for example `memory.written`'),
    subject: text('Id of what the event is about'),
    payload: about(JsonObject, 'Ids, numbers and digests of the event; never content'),
    prev_id: about(Hex32, '`breadcrumb_id` of the previous entry; zeros in the first'),
    created_at: Timestamp,
  },
  { title: 'Breadcrumb', description: 'An entry of the audit log' },
)
export type Breadcrumb = Static<typeof Breadcrumb>

const Consistency = Type.Object(
  {
    from_epoch: epochNumber('Number of the previous checkpoint'),
    from_size: size('Entries of the audit log at the previous checkpoint'),
    path: hashes('Consistency proof (RFC 9162, section 2.1.4)'),
  },
  { description: 'Proof that the audit log of the previous checkpoint is a prefix of this one' },
)

/** A signed checkpoint in C2SP form. */
export const Epoch = Type.Object(
  {
    epoch_number: epochNumber('Number of the checkpoint, from 1'),
    generation: integer('How often the audit log was restored from a backup', { minimum: 0 }),
    origin: text('Name of the audit log in its checkpoints'),
    tree_size: size('Entries of the audit log it signs'),
    root_hash: about(Hex32, 'Merkle root over those entries'),
    checkpoint: text('The signed checkpoint in C2SP form'),
    consistency: Nullable(Consistency),
    ...cosignatureMembers,
    created_at: Timestamp,
    rolled: Type.Optional(boolean('Whether this request signed it')),
    merkle_root: about(Hex32, 'Same as `root_hash`'),
    n_leaves: size('Same as `tree_size`'),
  },
  { title: 'Epoch', description: 'A signed checkpoint of the audit log' },
)
export type Epoch = Static<typeof Epoch>

const InclusionProof = Type.Object({
  included: boolean('Whether the entry is in the audit log that the checkpoint signs'),
  breadcrumb_seq: size('Position of the entry'),
  epoch_number: epochNumber('Number of the checkpoint'),
  reason: Type.Optional(text('Why the entry is not included')),
  breadcrumb: Type.Optional(about(Breadcrumb, 'The entry')),
  leaf_hash: Type.Optional(about(Hex32, 'RFC 6962 leaf hash of the entry')),
  audit_path: Type.Optional(hashes('Inclusion proof, from the sibling of the leaf upwards')),
  tree_size: Type.Optional(size('Entries of the audit log at the checkpoint')),
  root_hash: Type.Optional(about(Hex32, 'Merkle root over those entries')),
  checkpoint: Type.Optional(text('The signed checkpoint in C2SP form')),
  ...cosignatureMembers,
  tlog_proof: Type.Optional(
    text('The whole proof as a C2SP tlog-proof file, with the cosignatures on its checkpoint'),
  ),
  leaf: Type.Optional(about(Hex32, 'Same as `leaf_hash`')),
  proof: Type.Optional(hashes('Same as `audit_path`')),
  merkle_root: Type.Optional(about(Hex32, 'Same as `root_hash`')),
})

export const PublishedKey = Type.Object(
  {
    key_id: Type.String(),
    purpose: text('What the key signs'),
    public_key: about(Hex32, 'Ed25519 public key'),
    valid_from: time('When the key was created'),
    retired_at: Nullable(time('When the key was retired; null: it is in use')),
  },
  { title: 'PublishedKey', description: 'A signing key of the service' },
)

const PublicKeys = Type.Object({
  public_key: about(Hex32, 'Current Ed25519 public key of the audit log'),
  key_id: Type.String(),
  origin: text('Name of the audit log in its checkpoints'),
  keys: Type.Array(PublishedKey, { description: 'All signing keys, including retired ones' }),
})

const ChainVerification = Type.Object({
  status: Type.Enum(['intact', 'empty', 'tampered'], { description: 'The result' }),
  breadcrumbs_verified: integer('Entries that were verified'),
  epochs_verified: integer('Checkpoints that were verified'),
  from_seq: integer('Position the verification started at'),
  tree_size: integer('Entries of the audit log'),
  root_hash: Nullable(about(Hex32, 'Merkle root over those entries')),
  reason: Type.Optional(text('What was found to be wrong')),
  at_seq: Type.Optional(integer('Position of the first entry that fails')),
  tampered_at: Type.Optional(integer('Same as `at_seq`')),
  epoch_number: Type.Optional(integer('Number of the first checkpoint that fails')),
})
export type ChainVerification = Static<typeof ChainVerification>

const Verification = Type.Object({
  valid: boolean('Whether every check passed'),
  type: text('What was verified'),
  reason: Type.Optional(text('The first check that failed, in words')),
  checks: Type.Array(NamedCheck, { description: 'The checks' }),
  count: Type.Optional(integer('Receipts that were verified; only for receipts')),
  results: Type.Optional(
    Type.Array(
      Type.Object({
        index: integer('Position in `receipts`, from 0'),
        receipt_id: Nullable(text('As the receipt states it')),
        valid: boolean('Whether id and signature hold, by a key that was supplied or published'),
        reason: text('The result in words'),
        signed_by: Nullable(
          Type.Enum(['supplied', 'published', 'self_signed'], {
            description:
              '`supplied`: the key of the request. `published`: a key of this service. ' +
              '`self_signed`: only the receipt names the key, so anybody may have made it',
          }),
        ),
        key_id: Nullable(text('Id of the published key that signed')),
      }),
      { description: 'One result for each receipt; only for receipts' },
    ),
  ),
})

/** The alternative body of `gcrumbs.verify_envelope`: receipts. */
export const ReceiptsRequest = Type.Object(
  {
    receipts: Type.Array(Type.Unknown(), { maxItems: VERIFY_RECEIPTS_MAX }),
    public_key_b64: Type.Optional(Nullable(Base64)),
  },
  { additionalProperties: false },
)

const read = { access: 'tenant', scope: 'gcrumbs:read', method: 'GET', status: 200 } as const
const EpochParams = Type.Object({ epoch_number: epochNumber('Number of the checkpoint') })

export const gcrumbs = {
  public_key: operation({
    id: 'gcrumbs.public_key',
    method: 'GET',
    path: '/v1/gcrumbs/public_key',
    summary: 'Returns the current key of the audit log and all signing keys',
    description:
      'Use it to verify signatures independently of the service. Retired keys are included.',
    access: 'public',
    query: Type.Object({
      purpose: Type.Optional(
        text('Returns only the keys that sign this; default: all', { maxLength: 64 }),
      ),
    }),
    status: 200,
    reply: PublicKeys,
    refuses: ['no_signing_key'],
  }),
  verify_key: operation({
    id: 'gcrumbs.verify_key',
    method: 'GET',
    path: '/v1/gcrumbs/verify/key',
    summary: 'Returns the current key of receipts in hexadecimal and base64',
    description:
      'Use it to verify execution receipts with `POST /v1/gcrumbs/verify`. The key of the audit ' +
      'log, for witnesses, is that of `GET /v1/gcrumbs/public_key`.',
    access: 'public',
    status: 200,
    reply: Type.Object({
      algorithm: Type.Literal('ed25519', { description: 'Signature algorithm' }),
      public_key_hex: about(Hex32, 'The public key in hexadecimal'),
      public_key_b64: about(Base64, 'The public key in base64'),
      key_id: Type.String(),
    }),
    refuses: ['no_signing_key'],
  }),
  roll: operation({
    id: 'gcrumbs.roll',
    method: 'POST',
    path: '/v1/gcrumbs/roll',
    summary: 'Signs a checkpoint over the audit log',
    description:
      'Use it to fix the state of the log at a point in time, for example before an audit. When ' +
      'nothing was added it returns the current checkpoint.',
    access: 'tenant',
    scope: 'gcrumbs:admin',
    body: EmptyBody,
    body_optional: true,
    example: {},
    status: 200,
    reply: Epoch,
    refuses: ['chain_empty', 'no_signing_key'],
    idempotent: true,
  }),
  breadcrumbs: operation({
    ...read,
    id: 'gcrumbs.breadcrumbs',
    path: '/v1/gcrumbs/breadcrumbs',
    summary: 'Lists the entries of the audit log, oldest first',
    description: 'Use it to follow or copy the audit log.',
    query: Type.Object({ limit: Limit(limits.page), offset: Offset, cursor: Cursor }),
    reply: page('breadcrumbs', Breadcrumb),
    refuses: ['rejected'],
  }),
  epochs: operation({
    ...read,
    id: 'gcrumbs.epochs',
    path: '/v1/gcrumbs/epochs',
    summary: 'Lists the signed checkpoints, oldest first',
    description: 'Use it to find the checkpoint that covers a point in time.',
    query: Type.Object({ limit: Limit(limits.page), offset: Offset, cursor: Cursor }),
    reply: page('epochs', Epoch),
    refuses: ['rejected'],
  }),
  epoch: operation({
    ...read,
    id: 'gcrumbs.epoch',
    path: '/v1/gcrumbs/epochs/{epoch_number}',
    summary: 'Returns one signed checkpoint with its consistency proof',
    description: 'Use it to keep a checkpoint outside the service.',
    params: EpochParams,
    reply: Epoch,
    refuses: ['epoch_not_found'],
  }),
  proof: operation({
    ...read,
    id: 'gcrumbs.proof',
    path: '/v1/gcrumbs/epochs/{epoch_number}/proof',
    summary: 'Returns the proof that an entry is in the audit log a checkpoint signs',
    description: 'Use it to show somebody else that an event was recorded.',
    params: EpochParams,
    query: Type.Object({ seq: size('Position of the entry') }),
    reply: InclusionProof,
    refuses: ['epoch_not_found'],
  }),
  consistency: operation({
    ...read,
    id: 'gcrumbs.consistency',
    path: '/v1/gcrumbs/epochs/{epoch_number}/consistency',
    summary: 'Returns the proof that an earlier checkpoint is a prefix of this one',
    description: 'Use it to check that nothing before a checkpoint you hold was changed.',
    params: EpochParams,
    query: Type.Object({ from: epochNumber('Number of the earlier checkpoint') }),
    reply: Type.Object({
      from_epoch: epochNumber('Number of the earlier checkpoint'),
      to_epoch: epochNumber('Number of the later checkpoint'),
      from_size: size('Entries of the audit log at the earlier checkpoint'),
      to_size: size('Entries of the audit log at the later checkpoint'),
      from_root: about(Hex32, 'Merkle root at the earlier checkpoint'),
      to_root: about(Hex32, 'Merkle root at the later checkpoint'),
      path: hashes('Consistency proof (RFC 9162, section 2.1.4)'),
      from_checkpoint: text('The earlier checkpoint in C2SP form'),
      to_checkpoint: text('The later checkpoint in C2SP form'),
      from_cosignatures: about(
        cosignatureMembers.cosignatures,
        'Cosignatures on the earlier checkpoint',
      ),
      from_witnessed: about(cosignatureMembers.witnessed, '`witnessed` of the earlier checkpoint'),
      from_timestamp: about(cosignatureMembers.timestamp, '`timestamp` of the earlier checkpoint'),
      to_cosignatures: about(
        cosignatureMembers.cosignatures,
        'Cosignatures on the later checkpoint',
      ),
      to_witnessed: about(cosignatureMembers.witnessed, '`witnessed` of the later checkpoint'),
      to_timestamp: about(cosignatureMembers.timestamp, '`timestamp` of the later checkpoint'),
    }),
    refuses: ['epoch_not_found', 'rejected'],
  }),
  verify: operation({
    ...read,
    id: 'gcrumbs.verify',
    path: '/v1/gcrumbs/verify',
    summary: 'Recomputes the audit log from its entries and verifies every checkpoint',
    description:
      'Use it to check that the log was not tampered with. It starts at the last verified ' +
      'position unless `full` is set.',
    query: Type.Object({
      full: Type.Optional(
        Type.Boolean({ default: false, description: 'Verifies from the first entry' }),
      ),
    }),
    reply: ChainVerification,
    refuses: [],
  }),
  verify_envelope: operation({
    id: 'gcrumbs.verify_envelope',
    safe: true,
    method: 'POST',
    path: '/v1/gcrumbs/verify',
    summary: 'Verifies a proof, checkpoint, certificate, decision, receipt or list of entries',
    description:
      'Use it to verify a record that somebody else holds. It is public and stores nothing. ' +
      'Execution receipts are sent as `{"receipts": [...], "public_key_b64": "..."}`: without a ' +
      'key each is verified with the key that it names, which has to be a published one.',
    access: 'public',
    body: JsonObject,
    body_bytes_max: limits.verify_body_bytes,
    example: { type: 'epoch', epoch: {} },
    status: 200,
    reply: Verification,
    refuses: [],
  }),
  checkpoint: operation({
    ...read,
    id: 'gcrumbs.checkpoint',
    path: '/v1/log/checkpoint',
    summary: 'Returns the last signed checkpoint with its cosignatures, as a signed note',
    description:
      'Use it with `/v1/log` as the prefix of a C2SP tlog-tiles log, to follow the audit log ' +
      'with any monitor. See `docs/witnesses.md`.',
    reply: Type.String(),
    reply_type: 'text/plain',
    refuses: ['epoch_not_found'],
  }),
  tile: operation({
    ...read,
    id: 'gcrumbs.tile',
    path: '/v1/log/tile/{tile}',
    greedy: true,
    summary: 'Returns one tile of the audit log in the form of C2SP tlog-tiles',
    description:
      'Use it to recompute roots and proofs from hashes (`tile/<L>/<N>`) and to read entries ' +
      '(`tile/entries/<N>`), 256 in a tile; a part of one ends in `.p/<W>`. Only what a ' +
      'checkpoint signs is there. An entry is the canonical JSON of which its leaf is the hash.',
    params: Type.Object({ tile: text('`<L>/<N>[.p/<W>]` or `entries/<N>[.p/<W>]`') }),
    reply: Type.String({ description: 'Hashes of 32 bytes, or entries after their length' }),
    reply_type: 'application/octet-stream',
    cache_control: 'private, max-age=31536000, immutable',
    refuses: ['tile_not_found'],
  }),
  stats: operation({
    ...read,
    id: 'gcrumbs.stats',
    path: '/v1/gcrumbs/stats',
    summary: 'Counts the entries and checkpoints of the audit log',
    description: 'Use it to see whether the last checkpoint covers the latest entries.',
    reply: Type.Object({
      total_breadcrumbs: integer('Entries of the audit log'),
      total_epochs: integer('Signed checkpoints'),
      generation: integer('How often the audit log was restored from a backup'),
      last_epoch: Nullable(about(Epoch, 'The last signed checkpoint')),
    }),
    refuses: [],
  }),
} as const
