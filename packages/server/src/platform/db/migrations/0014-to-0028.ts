// Migrations of receipts, keys, streams, webhooks, billing, items and runs.

import type { Migration } from './ddl.ts'

/**
 * Subject requests reach every kind of record, and count those they found. Holds and retention
 * bases get their own record secrets.
 */
export const subjectTexts: Migration = {
  name: '0014-subject-texts',
  tables: [],
  columns: [
    { table: 'subject_requests', name: 'texts', column: 'int?' },
    { table: 'store_holds', name: 'secret_no', column: 'int?' },
    { table: 'store_retention', name: 'secret_no', column: 'int?' },
  ],
  indexes: [
    { table: 'store_holds', columns: ['tenant_id', 'secret_no'] },
    { table: 'store_retention', columns: ['tenant_id', 'secret_no'] },
  ],
}

/** Execution receipts of governed decisions: their positions in the chain of a workflow. */
export const receipts: Migration = {
  name: '0015-receipts',
  tables: [
    {
      name: 'cgr_receipts',
      columns: {
        tenant_id: 'text',
        seq: 'int',
        workflow: 'blob',
        step_number: 'int',
        previous: 'blob?',
        receipt_id: 'blob',
        signature: 'blob',
        key_id: 'text',
      },
      primary_key: ['tenant_id', 'seq'],
      unique: [{ columns: ['tenant_id', 'workflow', 'step_number'] }],
    },
  ],
}

/** When memories expire, and the ids of deleted stores. */
export const expiries: Migration = {
  name: '0016-expiries',
  tables: [
    {
      name: 'fact_expiries',
      columns: { tenant_id: 'text', ref: 'int', store_id: 'text', expires_us: 'int' },
      primary_key: ['tenant_id', 'ref'],
      clustered: true,
      // Finds due memories by their time, however large the store is.
      indexes: [{ columns: ['tenant_id', 'store_id', 'expires_us'] }],
    },
    {
      name: 'deleted_stores',
      columns: { tenant_id: 'text', store_id: 'text' },
      primary_key: ['tenant_id', 'store_id'],
      clustered: true,
    },
  ],
}

/** Marks stores and certificates of self-tests; log positions of released holds. */
export const selfTests: Migration = {
  name: '0017-self-tests',
  tables: [
    {
      name: 'self_test_stores',
      columns: { tenant_id: 'text', store_id: 'text' },
      primary_key: ['tenant_id', 'store_id'],
      clustered: true,
    },
    {
      name: 'self_test_certificates',
      columns: { tenant_id: 'text', certificate_id: 'text' },
      primary_key: ['tenant_id', 'certificate_id'],
      clustered: true,
    },
    {
      name: 'hold_releases',
      columns: { tenant_id: 'text', store_id: 'text', hold_id: 'text', released_seq: 'int' },
      primary_key: ['tenant_id', 'store_id', 'hold_id'],
      clustered: true,
    },
  ],
}

/** Names of keys are sealed. Subject requests reach them and the namespaces of keys. */
export const keyNames: Migration = {
  name: '0018-key-names',
  tables: [],
  columns: [
    { table: 'credentials', name: 'name_secret_no', column: 'int?' },
    { table: 'credentials', name: 'sealed_name', column: 'blob?' },
  ],
  indexes: [{ table: 'credentials', columns: ['tenant_id', 'name_secret_no'] }],
  grants: [
    { table: 'credentials', rights: 'update (name_secret_no, sealed_name)' },
    { table: 'credential_limits', rights: 'update (secret_no, sealed)' },
  ],
}

/** Finds the live tokens of a key without reading those of other keys. */
export const tokenMakers: Migration = {
  name: '0019-token-makers',
  tables: [],
  indexes: [
    {
      table: 'credential_limits',
      columns: ['tenant_id', 'maker_id', 'ends_us'],
      where: 'maker_id is not null',
    },
  ],
}

/** The languages of a store. */
export const storeLanguages: Migration = {
  name: '0020-store-languages',
  tables: [],
  columns: [{ table: 'stores', name: 'languages', column: 'text?' }],
}

/** Secrets that seal the snapshots of a store's index. */
export const indexSecrets: Migration = {
  name: '0021-index-secrets',
  tables: [
    {
      name: 'index_secrets',
      columns: { tenant_id: 'text', store_id: 'text', secret_no: 'int' },
      primary_key: ['tenant_id', 'store_id'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'secret_no'] }],
    },
  ],
}

/**
 * Jobs that wait until they are woken, tickets of event streams, and log heads that the platform
 * reads.
 */
export const streams: Migration = {
  name: '0022-streams',
  tables: [
    {
      name: 'stream_tickets',
      columns: {
        ticket_hash: 'blob',
        tenant_id: 'text',
        key_id: 'text',
        path: 'text',
        expires_us: 'int',
      },
      primary_key: ['ticket_hash'],
      indexes: [{ columns: ['expires_us'] }],
    },
  ],
  columns: [{ table: 'jobs', name: 'woken', column: 'int?' }],
  grants: [{ table: 'jobs', rights: 'update (woken)' }],
  // A process reads the heads of all logs that it follows at once, several times a second.
  readers: [{ table: 'chain_heads', reader: 'log_follower' }],
}

/** Endpoints that log entries are sent to, and their pending deliveries. */
export const webhooks: Migration = {
  name: '0023-webhooks',
  tables: [
    {
      name: 'webhooks',
      columns: {
        tenant_id: 'text',
        webhook_id: 'text',
        state: 'text',
        disabled_reason: 'text?',
        signature: 'text',
        compatibility: 'int',
        events: 'text',
        cursor_seq: 'int',
        previous_seq: 'int?',
        generation: 'int',
        failures: 'int',
        failing_since_us: 'int?',
        next_probe_us: 'int',
        last_success_us: 'int?',
        job_id: 'text',
        secret_no: 'int',
        sealed: 'blob?',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'webhook_id'],
      clustered: true,
    },
    {
      name: 'webhook_deliveries',
      columns: {
        tenant_id: 'text',
        webhook_id: 'text',
        delivery_id: 'text',
        kind: 'text',
        event_type: 'text',
        seq: 'int?',
        previous_seq: 'int?',
        generation: 'int',
        status: 'text',
        attempts: 'int',
        next_us: 'int?',
        response_code: 'int?',
        error: 'text?',
        job_id: 'text?',
        created_us: 'int',
        completed_us: 'int?',
      },
      primary_key: ['tenant_id', 'webhook_id', 'delivery_id'],
      clustered: true,
      indexes: [
        // Due deliveries, and open ones.
        { columns: ['tenant_id', 'webhook_id', 'next_us'], where: 'next_us is not null' },
        { columns: ['tenant_id', 'webhook_id', 'created_us'] },
      ],
    },
  ],
}

/** Plan overrides of a tenant, and the usage that a plan limits. */
export const plans: Migration = {
  name: '0024-plans',
  tables: [
    {
      name: 'quota_counters',
      columns: { tenant_id: 'text', name: 'text', value: 'int', stores_seq: 'int' },
      primary_key: ['tenant_id', 'name'],
      clustered: true,
    },
  ],
  columns: [{ table: 'tenants', name: 'overrides', column: 'text?' }],
  grants: [{ table: 'tenants', rights: 'update (name, plan, overrides)' }],
}

/** Subscriptions of tenants at the payment provider, its events, and the usage reported to it. */
export const billing: Migration = {
  name: '0025-billing',
  tables: [
    {
      name: 'subscriptions',
      columns: {
        tenant_id: 'text',
        status: 'text',
        plan: 'text',
        session_id: 'text?',
        customer_id: 'text?',
        subscription_id: 'text?',
        period_start_us: 'int?',
        period_end_us: 'int?',
        past_due_us: 'int?',
        fetched_us: 'int',
      },
      primary_key: ['tenant_id'],
    },
    {
      name: 'billing_objects',
      columns: { object_id: 'text', tenant_id: 'text' },
      primary_key: ['object_id'],
      clustered: true,
    },
    {
      name: 'billing_events',
      columns: {
        event_id: 'text',
        type: 'text',
        object_id: 'text',
        tenant_id: 'text?',
        created_us: 'int',
      },
      primary_key: ['event_id'],
      clustered: true,
    },
    {
      name: 'meter_marks',
      columns: { tenant_id: 'text', meter: 'text', period_start_us: 'int', total: 'int' },
      primary_key: ['tenant_id', 'meter', 'period_start_us'],
      clustered: true,
    },
    {
      name: 'meter_reports',
      columns: {
        tenant_id: 'text',
        meter: 'text',
        to_total: 'int',
        from_total: 'int',
        at_us: 'int',
        prepared_us: 'int',
        identifier: 'text',
        state: 'text',
      },
      primary_key: ['tenant_id', 'meter', 'to_total'],
    },
  ],
}

/** Keyed items: the memories that are versions of a name. */
export const items: Migration = {
  name: '0026-items',
  tables: [
    {
      name: 'items',
      columns: {
        tenant_id: 'text',
        store_id: 'text',
        name_mac: 'blob',
        version: 'int',
        ref: 'int',
        head: 'int',
        namespace_mac: 'blob',
        written_seq: 'int',
        created_us: 'int',
        item_no: 'int',
        namespace_no: 'int',
      },
      primary_key: ['tenant_id', 'store_id', 'name_mac', 'version'],
      clustered: true,
      unique: [
        { columns: ['tenant_id', 'store_id', 'name_mac'], where: 'head = 1' },
        { columns: ['tenant_id', 'ref'] },
      ],
      indexes: [
        { columns: ['tenant_id', 'store_id', 'namespace_mac', 'item_no'] },
        { columns: ['tenant_id', 'store_id', 'item_no'] },
      ],
    },
  ],
}

/** When a key was last used. */
export const keyUses: Migration = {
  name: '0027-key-uses',
  tables: [],
  columns: [{ table: 'credentials', name: 'used_us', column: 'int?' }],
  grants: [{ table: 'credentials', rights: 'update (used_us)' }],
}

/**
 * Agents, their runs, and the texts of runs, which are bound to the facts that they were generated
 * from.
 */
export const runs: Migration = {
  name: '0028-runs',
  tables: [
    {
      name: 'bound_texts',
      columns: {
        tenant_id: 'text',
        text_id: 'text',
        kind: 'text',
        run_id: 'text',
        secret_no: 'int',
        sealed: 'blob?',
        created_us: 'int',
        destroyed_us: 'int?',
      },
      primary_key: ['tenant_id', 'text_id'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'run_id'] }, { columns: ['tenant_id', 'secret_no'] }],
    },
    {
      name: 'bound_text_facts',
      columns: { tenant_id: 'text', ref: 'int', text_id: 'text' },
      primary_key: ['tenant_id', 'ref', 'text_id'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'text_id'] }],
    },
    {
      name: 'agents',
      columns: {
        tenant_id: 'text',
        agent_id: 'text',
        version: 'int',
        name_key: 'text',
        definition_label: 'text',
        enabled: 'int',
        max_steps: 'int',
        max_tokens_per_step: 'int',
        secret_no: 'int',
        sealed: 'blob',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'agent_id'],
      clustered: true,
      unique: [{ columns: ['tenant_id', 'name_key'] }],
      indexes: [{ columns: ['tenant_id', 'created_us'] }, { columns: ['tenant_id', 'secret_no'] }],
    },
    {
      name: 'runs',
      columns: {
        tenant_id: 'text',
        run_id: 'text',
        agent_id: 'text',
        state: 'text',
        termination_reason: 'text?',
        input_text_id: 'text?',
        budget_tokens: 'int?',
        budget_cost_micro: 'int?',
        reserved_tokens: 'int',
        reserved_cost_micro: 'int',
        spent_tokens: 'int',
        spent_cost_micro: 'int',
        steps: 'int',
        max_steps: 'int',
        receipts: 'int',
        last_receipt_digest: 'text?',
        started_by: 'text',
        deadline_us: 'int',
        check_us: 'int?',
        created_us: 'int',
        ended_us: 'int?',
      },
      primary_key: ['tenant_id', 'run_id'],
      clustered: true,
      indexes: [
        { columns: ['tenant_id', 'created_us'] },
        { columns: ['tenant_id', 'check_us'], where: 'check_us is not null' },
      ],
    },
    {
      name: 'run_steps',
      columns: {
        tenant_id: 'text',
        run_id: 'text',
        step_no: 'int',
        step_id: 'text',
        agent_id: 'text',
        state: 'text',
        reason: 'text?',
        store_id: 'text?',
        model_id: 'text',
        input_text_id: 'text',
        input_commitment: 'text',
        sources: 'text',
        memory_seq: 'int',
        policy_set: 'int',
        evaluation_id: 'text?',
        action_id: 'text?',
        permit: 'text?',
        reserved_tokens: 'int',
        reserved_cost_micro: 'int',
        tokens_in: 'int?',
        tokens_out: 'int?',
        cost_micro: 'int?',
        decision_id: 'text?',
        output_text_id: 'text?',
        receipt: 'text?',
        expires_us: 'int?',
        created_us: 'int',
        ended_us: 'int?',
      },
      primary_key: ['tenant_id', 'run_id', 'step_no'],
      clustered: true,
      unique: [{ columns: ['tenant_id', 'step_id'] }],
      indexes: [{ columns: ['tenant_id', 'action_id'], where: 'action_id is not null' }],
    },
    {
      name: 'run_calls',
      columns: {
        tenant_id: 'text',
        run_id: 'text',
        step_no: 'int',
        call_no: 'int',
        call_id: 'text',
        state: 'text',
        reason: 'text?',
        effect: 'text',
        args_text_id: 'text',
        args_commitment: 'text',
        result_text_id: 'text?',
        result_commitment: 'text?',
        policy_set: 'int',
        evaluation_id: 'text?',
        action_id: 'text?',
        created_us: 'int',
        ended_us: 'int?',
      },
      primary_key: ['tenant_id', 'run_id', 'step_no', 'call_no'],
      clustered: true,
      unique: [{ columns: ['tenant_id', 'call_id'] }],
      indexes: [{ columns: ['tenant_id', 'action_id'], where: 'action_id is not null' }],
    },
  ],
}
