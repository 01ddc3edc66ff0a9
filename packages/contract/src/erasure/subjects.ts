// Requests of data subjects (interface 4.4): finds, erases or exports everything about a person.

import Type, { type Static } from 'typebox'
import {
  about,
  Base64,
  boolean,
  Cursor,
  count,
  Hex16,
  Hex32,
  integer,
  JsonObject,
  Label,
  Limit,
  Nullable,
  Offset,
  page,
  Ref,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import { erasureReasons, TextKindName } from './erasure.ts'

export const SUBJECT_MATCHES = ['ignore_case', 'exact_case'] as const
export const SUBJECT_ACCESS_FORMATS = ['ndjson', 'json', 'html', 'pdf'] as const
export const SUBJECT_KINDS = ['erase', 'access'] as const
/** `done_with_holds`: something was kept, for example by a legal hold; the manifest names it. */
export const SUBJECT_STATUSES = ['queued', 'running', 'done', 'done_with_holds'] as const
export type SubjectStatus = (typeof SUBJECT_STATUSES)[number]
export type SubjectKind = (typeof SUBJECT_KINDS)[number]

const seq = (description: string) => integer(description, { minimum: -1 })

const Kind = Type.Enum(SUBJECT_KINDS, {
  title: 'SubjectRequestKind',
  description: 'Kind of request of a data subject',
})
const Status = Type.Enum(SUBJECT_STATUSES, {
  title: 'SubjectRequestStatus',
  description:
    '`done_with_holds`: the manifest names what was kept: what a legal hold protects, policies ' +
    'in force, labels in clear',
})

/**
 * A search in which everything must match: every metadata entry (equal value and type, as in the
 * filter of a retrieval), the session, and the text, which must be contained in the content or in a
 * text of the metadata.
 */
const FindGroup = Type.Object(
  {
    metadata: Type.Optional(
      Type.Record(
        Type.String({ minLength: 1, maxLength: limits.label_chars }),
        Type.Union([
          Type.String({ maxLength: limits.subject_text_chars }),
          Type.Number(),
          Type.Boolean(),
        ]),
        {
          maxProperties: limits.subject_metadata_keys,
          description: 'Metadata entries that must be equal, type included',
        },
      ),
    ),
    text: Type.Optional(
      text(
        'Text that the content or a text of the metadata must contain; with fewer than four ' +
          'characters it must be a whole word',
        { minLength: 2, maxLength: limits.subject_text_chars },
      ),
    ),
    session_id: Type.Optional(
      text('Session of decisions, and `session_id` in the metadata of memories; must be equal', {
        minLength: 1,
        maxLength: limits.label_chars,
      }),
    ),
    match: Type.Optional(
      Type.Enum(SUBJECT_MATCHES, {
        default: 'ignore_case',
        description: 'How `text` is compared, in Unicode NFC either way',
      }),
    ),
  },
  {
    title: 'SubjectFindGroup',
    description: 'Conditions that must all match',
    // Closed in replies too, which show the search as it was sent.
    additionalProperties: false,
  },
)
export type FindGroup = Static<typeof FindGroup>

const SubjectFind = Type.Union(
  [
    FindGroup,
    Type.Array(FindGroup, {
      minItems: 1,
      maxItems: limits.subject_find_groups,
      description: 'Alternatives, of which one must match',
    }),
  ],
  {
    title: 'SubjectFind',
    description:
      'What identifies the person: one group, whose conditions must all match, or a list of ' +
      'groups, of which one must match',
  },
)
export type SubjectFind = Static<typeof SubjectFind>

/** The search and its scope. */
const scope = {
  find: Type.Optional(
    about(SubjectFind, 'What identifies the person; may be left out where `namespace` is given'),
  ),
  store_ids: Type.Optional(
    Type.Array(Label, {
      minItems: 1,
      maxItems: limits.subject_stores,
      description: 'Stores to search; default: all stores the key may use',
    }),
  ),
  namespace: Type.Optional(
    Nullable(
      text('Searches only this namespace; without `find` everything in it matches', {
        maxLength: limits.label_chars + 1 + limits.namespace_chars,
      }),
    ),
  ),
  include_decisions: Type.Optional(
    Type.Boolean({ default: true, description: 'Whether to search decisions too' }),
  ),
  include_records: Type.Optional(
    Type.Boolean({
      default: true,
      description: 'Whether to search registry records, approvals and all other records too',
    }),
  ),
  received_at: Type.Optional(time('When the person asked; default: now')),
  due_at: Type.Optional(time('Due date; default: one month after receipt (GDPR Article 12(3))')),
}

const found = {
  facts: count('Memories, with all earlier and later versions of each'),
  superseded_facts: count('Those of them that have been superseded'),
  decisions_using: count('Decisions that used one of them; their copies are redacted too'),
  decisions_naming: count('Decisions whose own text matches; each is redacted and certified'),
  texts: count('Other records whose texts match; each is redacted and certified'),
  held: count('Those of all of them that a legal hold protects from erasure'),
}
const Found = Type.Object(found, { title: 'SubjectFound', description: 'What was found' })

export const SubjectPreview = Type.Object({
  preview: Type.Literal(true, { description: 'Nothing was changed' }),
  found: Type.Object(
    {
      ...found,
      stores: Type.Array(
        Type.Object({
          store_id: Type.String(),
          facts: count('Memories in this store'),
          held: count('Those of them that a legal hold protects'),
        }),
        { description: 'Counts by store' },
      ),
      kinds: Type.Array(
        Type.Object({
          kind: TextKindName,
          texts: count('Records of this kind'),
          held: count('Those of them that a legal hold protects'),
        }),
        { description: 'Counts of other records by kind' },
      ),
    },
    { description: 'What was found' },
  ),
  sample_refs: Type.Array(Ref, { description: 'Some of the memories' }),
  session_ids: Type.Array(Type.String(), {
    description: 'Sessions of decisions that were found, to search for with `session_id`',
  }),
  digest: about(
    Hex32,
    'Digest of this search and everything it found, of this tenant only; sent as `expect_digest` ' +
      'it must still match',
  ),
  log_seq: seq('Last log entry when the search began; later writes may be missing'),
  scanned: Type.Object(
    {
      facts: count('Memories'),
      decisions: count('Decisions'),
      texts: count('Other records'),
    },
    { description: 'What was searched' },
  ),
  namespace: Nullable(text('Namespace as requested; null: all namespaces')),
  include_decisions: boolean('Whether decisions were searched'),
  include_records: boolean('Whether other records were searched'),
  searched: Type.Array(Type.String(), { description: 'Places that were searched' }),
  not_searched: Type.Array(Type.String(), { description: 'Places that were not searched' }),
})
export type SubjectPreview = Static<typeof SubjectPreview>

const requestFields = {
  request_id: about(Hex16, 'Id of the request of a data subject'),
  tenant_id: Type.String(),
  kind: Kind,
  status: Status,
  job_id: Nullable(Type.String()),
  found: Found,
  digest: about(
    Hex32,
    'SHA-256 over the sorted ids of everything found; not the `digest` of a preview',
  ),
  log_seq: seq('Last log entry when the search began'),
  find_label: about(
    Hex32,
    'HMAC of what was searched for under a salt of the tenant: equal for equal searches',
  ),
  received_at: time('When the person asked'),
  due_at: time('When the request is due'),
  extended_at: Nullable(time('When the due date was extended')),
  overdue: boolean('Whether the due date has passed and the request is not done'),
  created_at: Timestamp,
  started_at: Nullable(time('When the work started')),
  completed_at: Nullable(time('When the work ended')),
  progress: Type.Object(
    { done: count('Items with an outcome'), total: count('All items') },
    { title: 'SubjectProgress', description: 'Progress of the work' },
  ),
  requested_with: text('Id of the credential that asked'),
}

export const SubjectRequest = Type.Object(requestFields, {
  title: 'SubjectRequest',
  description: 'A request of a data subject',
})
export type SubjectRequest = Static<typeof SubjectRequest>

/** A request with its encrypted members, which are null after the request is done. */
export const SubjectRequestDetail = Type.Object({
  ...requestFields,
  find: Nullable(about(SubjectFind, 'What was searched for; null once the request is done')),
  extension_reason: Nullable(text('Why the due date was extended; null once the request is done')),
})

export const ManifestEntry = Type.Object({
  fact_ref: Type.Optional(about(Ref, 'The memory')),
  decision_id: Type.Optional(about(Hex16, 'The decision')),
  subject_kind: Type.Optional(about(TextKindName, 'Kind of another record')),
  subject_id: Type.Optional(text('Id of the other record')),
  outcome: Type.Enum(['erased', 'held', 'absent'], {
    description:
      '`held`: a legal hold protects it, or it is a policy in force or a label in clear. ' +
      '`absent`: it was gone already',
  }),
  certificate_id: Nullable(Hex16),
  certificate_digest: Nullable(about(Hex32, 'SHA-256 of the certificate')),
})

/** A manifest; see `ErasureManifest` of @custos/proof. */
export const Manifest = Type.Object({
  record_kind: Type.Literal('erasure_manifest', { description: 'Kind of signed record' }),
  request_id: about(Hex16, 'Id of the request of a data subject'),
  tenant_id: Type.String(),
  kind: Type.Literal('erase', { description: 'Kind of request' }),
  status: Type.Enum(['done', 'done_with_holds'], { description: 'Status of the request' }),
  find_label: about(Hex32, 'HMAC of what was searched for under a salt of the tenant'),
  found_digest: about(Hex32, 'SHA-256 over the ids of everything found first'),
  found: about(
    Type.Object({ ...found, texts: Type.Optional(found.texts) }),
    'What was found first; `texts` is absent where only memories and decisions were searched',
  ),
  found_later: count('What only the later searches found'),
  searched_again: boolean('Whether it was searched again at the end'),
  not_searched: Type.Array(Type.String(), { description: 'Places that were not searched' }),
  received_at: time('When the person asked'),
  due_at: time('When the request was due'),
  started_at: time('When the work started'),
  completed_at: time('When the work ended'),
  origin: text('Name of the audit log in its checkpoints'),
  log_seq: seq('Last log entry when the first search began'),
  searched_to_seq: seq('Last log entry when the last search began'),
  certificates: count('Number of certificates'),
  certificates_root: about(Hex32, 'Merkle root over the certificates'),
  entries: Type.Array(ManifestEntry, { description: 'The outcome of each item' }),
  signature: Base64,
  public_key: Base64,
  key_id: Type.String(),
})
export type Manifest = Static<typeof Manifest>

const params = Type.Object({ request_id: about(Hex16, 'Id of the request of a data subject') })
const tenant = { access: 'tenant', scope: 'erasure:execute' } as const
const path = '/v1/erasure/subject'
const one = `${path}/{request_id}` as const

export const subjects = {
  erase: operation({
    ...tenant,
    id: 'subjects.erase',
    method: 'POST',
    path,
    summary: 'Starts a job that erases everything about a person, with a manifest of certificates',
    description:
      'Use it for a request to be forgotten (GDPR Article 17); send `preview` first to see what ' +
      'would be erased, and its `digest` as `expect_digest` with the request to erase. A ' +
      'preview changes and stores nothing. Otherwise the reply is a 202: the list of what was ' +
      'found is fixed, each memory on it is erased with a certificate, decisions and other ' +
      'records whose own text matches are redacted, and up to five further searches find what ' +
      'was written meanwhile. What was searched for is encrypted, and destroyed when the request ' +
      'is done. If nothing is found the request is recorded all the same and its manifest says so.',
    body: Type.Object({
      ...scope,
      preview: Type.Optional(
        Type.Boolean({ default: false, description: 'Reports what would be erased' }),
      ),
      expect_digest: Type.Optional(
        about(
          Hex32,
          '`digest` of a preview of the same search, required to erase; 409 `subject_changed` if ' +
            'it no longer matches',
        ),
      ),
      ...erasureReasons,
    }),
    example: { find: { text: 'Ana Silva' }, preview: true },
    status: 202,
    reply: SubjectRequest,
    preview: SubjectPreview,
    refuses: [
      'rejected',
      'no_signing_key',
      'store_not_found',
      'subject_changed',
      'policy_denied',
      'approval_required',
      'idempotency_key_reused',
    ],
    idempotent: true,
  }),
  access: operation({
    ...tenant,
    extra_scopes: ['memory:read', 'decisions:read'],
    id: 'subjects.access',
    method: 'POST',
    path: `${path}/access`,
    summary: 'Returns everything held about a person: NDJSON, JSON, HTML or PDF',
    description:
      'Use it for a request for access (GDPR Articles 15 and 20). The first line says what was ' +
      'searched and what was not. Then follow memories with all versions, the decisions that ' +
      'used or name them, other records by kind, and certificates of what was redacted; the last ' +
      'line counts them. Contents are shown, so the key needs `memory:read` and `decisions:read` ' +
      'as well. `json` holds the same lines as a list, `records`; `html` and `pdf` are readable ' +
      'documents with a cover letter, of limited length.',
    query: Type.Object({
      format: Type.Optional(
        Type.Enum(SUBJECT_ACCESS_FORMATS, {
          default: 'ndjson',
          description: 'Format of the reply',
        }),
      ),
    }),
    body: Type.Object(scope),
    example: { find: { text: 'Ana Silva' } },
    status: 200,
    reply: JsonObject,
    reply_type: 'application/x-ndjson',
    file_types: ['application/json; charset=utf-8', 'text/html; charset=utf-8', 'application/pdf'],
    refuses: ['rejected', 'store_not_found'],
  }),
  list: operation({
    ...tenant,
    id: 'subjects.list',
    method: 'GET',
    path,
    summary: 'Lists requests of data subjects, newest first',
    description: 'Use it to find requests that are overdue.',
    query: Type.Object({
      kind: Type.Optional(about(Kind, 'Returns only requests of this kind')),
      status: Type.Optional(about(Status, 'Returns only requests with this status')),
      overdue: Type.Optional(boolean('Returns only requests that are, or are not, overdue')),
      limit: Limit(limits.records_page),
      offset: Offset,
      cursor: Cursor,
    }),
    status: 200,
    reply: page('requests', SubjectRequest),
    refuses: ['rejected'],
  }),
  get: operation({
    ...tenant,
    id: 'subjects.get',
    method: 'GET',
    path: one,
    summary: 'Returns one request of a data subject',
    description:
      'Use it to follow the progress of a request. What was searched for is shown until the ' +
      'request is done.',
    params,
    status: 200,
    reply: SubjectRequestDetail,
    refuses: ['subject_request_not_found'],
  }),
  extend: operation({
    ...tenant,
    id: 'subjects.extend',
    method: 'POST',
    path: `${one}/extend`,
    summary: 'Extends the due date by two months (GDPR Article 12(3))',
    description: 'Use it for a complex request, once and before it is due.',
    params,
    body: Type.Object({
      reason: text('As told to the person; encrypted, and destroyed when the request is done', {
        minLength: 1,
        maxLength: limits.reason_chars,
      }),
    }),
    example: { reason: 'many records' },
    status: 200,
    reply: SubjectRequest,
    refuses: ['subject_request_not_found', 'wrong_state'],
  }),
  manifest: operation({
    ...tenant,
    id: 'subjects.manifest',
    method: 'GET',
    path: `${one}/manifest`,
    summary: 'Returns the signed manifest of a finished erasure',
    description:
      'Use it to prove that a request was fulfilled. With `bundle` the manifest comes on the ' +
      'first line and every certificate it lists on a line of its own, as `custos verify` reads ' +
      'them; `pdf` is a rendering for people with id and digest.',
    params,
    query: Type.Object({
      format: Type.Optional(
        Type.Enum(['json', 'bundle', 'pdf'], {
          default: 'json',
          description: 'Format of the reply',
        }),
      ),
    }),
    status: 200,
    reply: Manifest,
    may_stream: 'application/x-ndjson',
    file_types: ['application/pdf'],
    refuses: ['subject_request_not_found', 'wrong_state'],
  }),
} as const
