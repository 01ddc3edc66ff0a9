// The first migrations: stores, memories, the audit log, policies, registries.

import type { Migration, TableSpec } from './ddl.ts'

const control: TableSpec[] = [
  { name: 'instance', columns: { instance_id: 'text' }, primary_key: ['instance_id'] },
  {
    name: 'tenants',
    columns: { tenant_id: 'text', name: 'text', plan: 'text', created_us: 'int' },
    primary_key: ['tenant_id'],
  },
  {
    name: 'credentials',
    columns: {
      key_hash: 'blob',
      key_id: 'text',
      tenant_id: 'text?',
      class: 'text',
      name: 'text',
      prefix: 'text',
      scopes: 'text',
      allowed_stores: 'text',
      max_trust_tier: 'text?',
      created_us: 'int',
      expires_us: 'int?',
      revoked_us: 'int?',
    },
    primary_key: ['key_hash'],
    unique: [{ columns: ['key_id'] }],
    indexes: [{ columns: ['tenant_id', 'created_us'] }],
  },
  {
    name: 'jobs',
    columns: {
      job_id: 'text',
      tenant_id: 'text',
      kind: 'text',
      state: 'text',
      payload: 'text',
      progress_done: 'int',
      progress_total: 'int',
      attempts: 'int',
      error: 'text?',
      created_us: 'int',
      updated_us: 'int',
      lease_until_us: 'int',
    },
    primary_key: ['job_id'],
    indexes: [{ columns: ['state', 'lease_until_us'] }, { columns: ['tenant_id', 'created_us'] }],
  },
  {
    name: 'leases',
    columns: { name: 'text', holder: 'text', until_us: 'int' },
    primary_key: ['name'],
  },
]

const log: TableSpec[] = [
  {
    name: 'chain_heads',
    columns: {
      tenant_id: 'text',
      generation: 'int',
      size: 'int',
      frontier: 'blob',
      last_id: 'blob',
      last_us: 'int',
    },
    primary_key: ['tenant_id'],
  },
  {
    name: 'breadcrumbs',
    columns: { tenant_id: 'text', seq: 'int', breadcrumb_id: 'blob', record: 'text' },
    primary_key: ['tenant_id', 'seq'],
    clustered: true,
  },
  {
    name: 'chain_nodes',
    columns: { tenant_id: 'text', height: 'int', idx: 'int', hash: 'blob' },
    primary_key: ['tenant_id', 'height', 'idx'],
    clustered: true,
  },
  {
    name: 'epochs',
    columns: {
      tenant_id: 'text',
      epoch_number: 'int',
      generation: 'int',
      tree_size: 'int',
      root_hash: 'blob',
      checkpoint: 'text',
      created_us: 'int',
    },
    primary_key: ['tenant_id', 'epoch_number'],
  },
]

const memory: TableSpec[] = [
  {
    name: 'stores',
    columns: {
      tenant_id: 'text',
      store_id: 'text',
      secret_no: 'int',
      sealed: 'blob',
      capabilities: 'text',
      tokenizer: 'text',
      embedder: 'text',
      sent_out: 'int',
      state: 'text',
      head_seq: 'int',
      created_us: 'int',
    },
    primary_key: ['tenant_id', 'store_id'],
  },
  {
    name: 'facts',
    columns: {
      tenant_id: 'text',
      ref: 'int',
      store_id: 'text',
      namespace: 'text?',
      written_seq: 'int',
      written_us: 'int',
      token_count: 'int',
      state: 'int',
      sealed_seq: 'int',
      space_mark: 'int?',
      sealed: 'blob',
    },
    primary_key: ['tenant_id', 'ref'],
    indexes: [
      { columns: ['tenant_id', 'store_id', 'ref'] },
      { columns: ['tenant_id', 'store_id', 'sealed_seq'] },
      { columns: ['tenant_id', 'state'], where: 'state = 1' },
    ],
  },
  {
    name: 'validity',
    columns: {
      tenant_id: 'text',
      store_id: 'text',
      ref: 'int',
      from_seq: 'int',
      until_seq: 'int?',
      valid_from_us: 'int',
      valid_until_us: 'int?',
      predecessor: 'int?',
      superseded_by: 'int?',
    },
    primary_key: ['tenant_id', 'ref', 'from_seq'],
    clustered: true,
    indexes: [
      { columns: ['tenant_id', 'store_id', 'from_seq'] },
      { columns: ['tenant_id', 'store_id', 'until_seq'], where: 'until_seq is not null' },
    ],
  },
  {
    name: 'tombstones',
    columns: {
      tenant_id: 'text',
      ref: 'int',
      store_id: 'text?',
      written_seq: 'int?',
      erased_seq: 'int',
      erased_us: 'int',
      certificate_id: 'text?',
    },
    primary_key: ['tenant_id', 'ref'],
    indexes: [{ columns: ['tenant_id', 'store_id', 'erased_seq'] }],
  },
]

const decisions: TableSpec[] = [
  {
    name: 'decisions',
    columns: {
      tenant_id: 'text',
      seq: 'int',
      decision_id: 'blob',
      logged_us: 'int',
      store_id: 'text',
      model_id: 'text',
      session_label: 'blob?',
      secret_no: 'int',
      token_count: 'int?',
      latency_ms: 'real?',
      memory_seq: 'int',
      sealed: 'blob',
    },
    primary_key: ['tenant_id', 'seq'],
    unique: [{ columns: ['tenant_id', 'decision_id'] }],
    indexes: [
      { columns: ['tenant_id', 'store_id', 'seq'] },
      { columns: ['tenant_id', 'session_label', 'seq'], where: 'session_label is not null' },
    ],
  },
  {
    name: 'decision_facts',
    columns: { tenant_id: 'text', ref: 'int', decision_seq: 'int', bound: 'int' },
    primary_key: ['tenant_id', 'ref', 'decision_seq'],
    clustered: true,
  },
]

const rest: TableSpec[] = [
  {
    name: 'certificates',
    columns: {
      tenant_id: 'text',
      certificate_id: 'text',
      subject_kind: 'text',
      subject: 'text',
      stands: 'int',
      outcome: 'text',
      completed_us: 'int',
      log_seq: 'int',
      record: 'text',
    },
    primary_key: ['tenant_id', 'certificate_id'],
    unique: [{ columns: ['tenant_id', 'subject_kind', 'subject'], where: 'stands = 1' }],
    indexes: [{ columns: ['tenant_id', 'completed_us'] }],
  },
  {
    name: 'usage',
    columns: { tenant_id: 'text', period: 'text', operation: 'text', count: 'int', bytes: 'int' },
    primary_key: ['tenant_id', 'period', 'operation'],
    clustered: true,
  },
  {
    name: 'idempotency',
    columns: {
      tenant_id: 'text',
      key_label: 'blob',
      operation: 'text',
      status: 'int',
      ids: 'text',
      body_mac: 'text',
      body_day: 'int',
      created_us: 'int',
    },
    primary_key: ['tenant_id', 'key_label'],
    indexes: [{ columns: ['tenant_id', 'created_us'] }],
  },
]

/** The first schema: control tables, log, memory, decisions, erasure and bookkeeping. */
export const foundation: Migration = {
  name: '0001-foundation',
  tables: [...control, ...log, ...memory, ...decisions, ...rest],
}

/** One row per tenant for PostgreSQL to lock, so that its units of work run one after another. */
export const tenantLocks: Migration = {
  name: '0002-tenant-locks',
  // SQLite has only one writer, so it needs no lock.
  engine: 'postgres',
  tables: [{ name: 'tenant_locks', columns: { tenant_id: 'text' }, primary_key: ['tenant_id'] }],
}

/** Policies with all their versions, their evaluations, and the counts of rate limits. */
export const governance: Migration = {
  name: '0003-governance',
  tables: [
    // A control table, read with the credential, so that no process uses outdated policies.
    {
      name: 'policy_sets',
      columns: { tenant_id: 'text', policy_set: 'int' },
      primary_key: ['tenant_id'],
    },
    {
      name: 'policies',
      columns: {
        tenant_id: 'text',
        policy_id: 'text',
        version: 'int',
        policy_set: 'int',
        change: 'text',
        stands: 'int',
        policy_type: 'text',
        action: 'text',
        enabled: 'int',
        priority: 'int',
        seed_key: 'text?',
        secret_no: 'int',
        sealed: 'blob',
        created_us: 'int',
        changed_us: 'int',
        changed_by: 'text',
      },
      primary_key: ['tenant_id', 'policy_id', 'version'],
      unique: [
        { columns: ['tenant_id', 'policy_id'], where: 'stands = 1' },
        { columns: ['tenant_id', 'seed_key'], where: 'stands = 1 and seed_key is not null' },
      ],
      indexes: [{ columns: ['tenant_id', 'secret_no'] }],
    },
    {
      name: 'policy_members',
      columns: { tenant_id: 'text', policy_set: 'int', members: 'text' },
      primary_key: ['tenant_id', 'policy_set'],
    },
    {
      name: 'policy_counts',
      columns: { tenant_id: 'text', policy_id: 'text', result: 'text', count: 'int' },
      primary_key: ['tenant_id', 'policy_id', 'result'],
      clustered: true,
    },
    {
      name: 'evaluations',
      columns: {
        tenant_id: 'text',
        created_us: 'int',
        evaluation_id: 'text',
        policy_set: 'int',
        operation: 'text',
        verdicts: 'text',
        details: 'text?',
        request: 'text',
        members: 'int',
        denied: 'int',
        escalated: 'int',
        logged: 'int',
      },
      primary_key: ['tenant_id', 'created_us', 'evaluation_id'],
      indexes: [
        { columns: ['tenant_id', 'created_us', 'denied'], where: 'denied > 0' },
        { columns: ['tenant_id', 'created_us', 'escalated'], where: 'escalated > 0' },
        { columns: ['tenant_id', 'created_us', 'logged'], where: 'logged > 0' },
      ],
    },
    {
      name: 'rate_slots',
      columns: { tenant_id: 'text', policy_id: 'text', slot_us: 'int', count: 'int' },
      primary_key: ['tenant_id', 'policy_id', 'slot_us'],
      clustered: true,
    },
  ],
}

/** Facts that at least one retrieval has returned. */
export const retrievedFacts: Migration = {
  name: '0004-retrieved-facts',
  tables: [
    {
      name: 'retrieved_facts',
      columns: { tenant_id: 'text', store_id: 'text', ref: 'int' },
      primary_key: ['tenant_id', 'store_id', 'ref'],
      clustered: true,
    },
  ],
}

/** Records of the registries, and the approval requests of pending ones. */
export const records: Migration = {
  name: '0005-records',
  tables: [
    {
      name: 'records',
      columns: {
        tenant_id: 'text',
        record_id: 'text',
        kind: 'text',
        status: 'text',
        /** 1 if its content, or its name, resolves to this record. */
        live: 'int',
        content_key: 'text?',
        name_key: 'text?',
        series_id: 'text',
        version: 'int',
        proposal_digest: 'text',
        policy_set: 'int',
        request_id: 'text?',
        linked_id: 'text?',
        requested_by: 'text',
        secret_no: 'int',
        sealed: 'blob',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'record_id'],
      unique: [
        {
          columns: ['tenant_id', 'kind', 'content_key'],
          where: 'live = 1 and content_key is not null',
        },
        { columns: ['tenant_id', 'name_key'], where: "live = 1 and kind = 'world_type'" },
      ],
      indexes: [
        { columns: ['tenant_id', 'kind', 'created_us'] },
        { columns: ['tenant_id', 'kind', 'name_key', 'created_us'] },
        { columns: ['tenant_id', 'kind', 'status'] },
        { columns: ['tenant_id', 'series_id', 'version'] },
        { columns: ['tenant_id', 'secret_no'] },
      ],
    },
    {
      name: 'approvals',
      columns: {
        tenant_id: 'text',
        request_id: 'text',
        kind: 'text',
        record_id: 'text',
        state: 'text',
        proposal_digest: 'text',
        policy_set: 'int',
        escalations: 'text',
        requested_by: 'text',
        nonce: 'text',
        issued_us: 'int',
        expires_us: 'int',
        decided_us: 'int?',
        decided_by: 'text?',
        approver_id: 'text?',
        secret_no: 'int',
        sealed: 'blob',
      },
      primary_key: ['tenant_id', 'request_id'],
      indexes: [
        { columns: ['tenant_id', 'state', 'issued_us'] },
        { columns: ['tenant_id', 'issued_us'] },
        { columns: ['tenant_id', 'expires_us'], where: "state = 'pending'" },
        { columns: ['tenant_id', 'secret_no'] },
      ],
    },
    {
      name: 'approvers',
      columns: {
        tenant_id: 'text',
        approver_id: 'text',
        public_key: 'blob',
        active: 'int',
        secret_no: 'int',
        sealed: 'blob',
        created_us: 'int',
        changed_us: 'int',
      },
      primary_key: ['tenant_id', 'approver_id'],
      unique: [{ columns: ['tenant_id', 'public_key'] }],
      indexes: [{ columns: ['tenant_id', 'created_us'] }, { columns: ['tenant_id', 'secret_no'] }],
    },
    {
      name: 'approval_settings',
      columns: {
        tenant_id: 'text',
        different_credential: 'int',
        attestation_required: 'int',
        expires_after_s: 'int',
        changed_us: 'int',
        changed_by: 'text',
      },
      primary_key: ['tenant_id'],
    },
  ],
}
