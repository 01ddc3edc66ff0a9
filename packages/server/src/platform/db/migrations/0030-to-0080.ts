// Migrations of people and sign-in, managed runs, tools, witnesses, moves and timestamps.

import type { Migration } from './ddl.ts'

/** Sessions of browsers, and the session in which a ticket of an event stream was created. */
export const sessions: Migration = {
  name: '0030-sessions',
  tables: [
    {
      name: 'sessions',
      columns: {
        session_hash: 'blob',
        session_id: 'text',
        tenant_id: 'text?',
        key_id: 'text',
        created_us: 'int',
        used_us: 'int',
        ends_us: 'int',
      },
      primary_key: ['session_hash'],
      unique: [{ columns: ['session_id'] }],
      indexes: [{ columns: ['tenant_id', 'created_us'] }, { columns: ['ends_us'] }],
    },
  ],
  columns: [{ table: 'stream_tickets', name: 'session_id', column: 'text?' }],
}

/** People of a tenant, with their sessions and keys. */
export const people: Migration = {
  name: '0031-people',
  tables: [
    {
      name: 'users',
      columns: {
        tenant_id: 'text',
        user_id: 'text',
        state: 'text',
        roles: 'text',
        allowed_stores: 'text',
        email_label: 'text',
        invitation_hash: 'blob?',
        invited_until_us: 'int?',
        secret_no: 'int',
        sealed: 'blob?',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'user_id'],
      clustered: true,
      unique: [{ columns: ['tenant_id', 'email_label'] }],
      indexes: [
        { columns: ['tenant_id', 'secret_no'] },
        {
          columns: ['tenant_id', 'invitation_hash'],
          where: 'invitation_hash is not null',
        },
      ],
    },
  ],
  columns: [
    { table: 'sessions', name: 'user_id', column: 'text?' },
    { table: 'credentials', name: 'user_id', column: 'text?' },
  ],
}

/** Connections to OpenID providers, identities of people there, and pending sign-ins. */
export const sso: Migration = {
  name: '0032-sso',
  tables: [
    {
      name: 'sso_connections',
      columns: {
        tenant_id: 'text',
        connection_id: 'text',
        enabled: 'int',
        enforced: 'int',
        secret_no: 'int',
        sealed: 'blob?',
        created_us: 'int',
        changed_us: 'int',
      },
      primary_key: ['tenant_id', 'connection_id'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'secret_no'] }],
    },
    {
      name: 'sso_identities',
      columns: {
        tenant_id: 'text',
        connection_id: 'text',
        sub_label: 'text',
        user_id: 'text',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'connection_id', 'sub_label'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'user_id'] }],
    },
    {
      name: 'sso_logouts',
      columns: {
        tenant_id: 'text',
        connection_id: 'text',
        jti_hash: 'blob',
        expires_us: 'int',
      },
      primary_key: ['tenant_id', 'connection_id', 'jti_hash'],
      clustered: true,
    },
    {
      name: 'sso_routes',
      columns: { route: 'text', tenant_id: 'text', connection_id: 'text' },
      primary_key: ['route'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'connection_id'] }],
    },
    {
      name: 'sso_logins',
      columns: {
        state_hash: 'blob',
        tenant_id: 'text',
        connection_id: 'text',
        browser_hash: 'blob',
        redirect_uri: 'text',
        return_to: 'text',
        challenge: 'text?',
        created_us: 'int',
        expires_us: 'int',
      },
      primary_key: ['state_hash'],
      clustered: true,
      indexes: [{ columns: ['expires_us'] }],
    },
    {
      name: 'sso_codes',
      columns: {
        code_hash: 'blob',
        tenant_id: 'text',
        connection_id: 'text',
        user_id: 'text',
        sid_label: 'text?',
        challenge: 'text',
        expires_us: 'int',
      },
      primary_key: ['code_hash'],
      clustered: true,
      indexes: [{ columns: ['expires_us'] }],
    },
  ],
  columns: [
    { table: 'sessions', name: 'connection_id', column: 'text?' },
    { table: 'sessions', name: 'sid_label', column: 'text?' },
    { table: 'users', name: 'break_glass', column: 'int?' },
  ],
}

/** Providers of models, and runs that this service executes itself. */
export const managedRuns: Migration = {
  name: '0034-managed-runs',
  tables: [
    {
      name: 'llm_providers',
      columns: {
        tenant_id: 'text',
        provider_id: 'text',
        model_key: 'text',
        kind: 'text',
        enabled: 'int',
        price_in_micro: 'int',
        price_out_micro: 'int',
        definition_label: 'text',
        secret_no: 'int',
        sealed: 'blob',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'provider_id'],
      clustered: true,
      unique: [{ columns: ['tenant_id', 'model_key'] }],
      indexes: [{ columns: ['tenant_id', 'secret_no'] }],
    },
  ],
  columns: [
    { table: 'runs', name: 'executor', column: 'text?' },
    { table: 'runs', name: 'job_id', column: 'text?' },
    { table: 'run_steps', name: 'provider_id', column: 'text?' },
    { table: 'run_steps', name: 'asked_us', column: 'int?' },
  ],
}

/** Tools of managed runs, and the time at which each call was sent. */
export const tools: Migration = {
  name: '0035-tools',
  tables: [
    {
      name: 'llm_tools',
      columns: {
        tenant_id: 'text',
        tool_id: 'text',
        name_key: 'text',
        version: 'int',
        kind: 'text',
        effect: 'text',
        enabled: 'int',
        definition_label: 'text',
        secret_no: 'int',
        sealed: 'blob',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'tool_id'],
      clustered: true,
      unique: [{ columns: ['tenant_id', 'name_key'] }],
      indexes: [{ columns: ['tenant_id', 'secret_no'] }],
    },
  ],
  columns: [
    { table: 'run_calls', name: 'tool_id', column: 'text?' },
    { table: 'run_calls', name: 'sent_us', column: 'int?' },
  ],
}

/** Signatures of witnesses on checkpoints of a tenant's log. */
export const cosignatures: Migration = {
  name: '0036-cosignatures',
  tables: [
    {
      name: 'cosignatures',
      columns: {
        tenant_id: 'text',
        epoch_number: 'int',
        witness: 'text',
        generation: 'int',
        tree_size: 'int',
        signature: 'blob',
        signed_s: 'int',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'epoch_number', 'witness'],
      clustered: true,
    },
  ],
}

/** Session digests: the session of each memory, and the sources of each digest. */
export const sessionDigests: Migration = {
  name: '0037-session-digests',
  tables: [
    {
      name: 'session_facts',
      columns: { tenant_id: 'text', ref: 'int', store_id: 'text', session_mac: 'blob' },
      primary_key: ['tenant_id', 'ref'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'store_id', 'session_mac', 'ref'] }],
    },
    {
      name: 'digest_sessions',
      columns: {
        tenant_id: 'text',
        store_id: 'text',
        session_mac: 'blob',
        changed_seq: 'int',
        due_us: 'int?',
        digest_ref: 'int?',
      },
      primary_key: ['tenant_id', 'store_id', 'session_mac'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'due_us'] }, { columns: ['tenant_id', 'digest_ref'] }],
    },
    {
      name: 'digest_sources',
      columns: { tenant_id: 'text', ref: 'int', digest_ref: 'int' },
      primary_key: ['tenant_id', 'ref', 'digest_ref'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'digest_ref'] }],
    },
  ],
  columns: [{ table: 'stores', name: 'digest_after_s', column: 'int?' }],
}

/** Which memories were sent to which model providers and tools. */
export const disclosures: Migration = {
  name: '0042-disclosures',
  tables: [
    {
      name: 'disclosures',
      columns: {
        tenant_id: 'text',
        ref: 'int',
        recipient_id: 'text',
        kind: 'text',
        step_id: 'text',
        sent_us: 'int',
      },
      primary_key: ['tenant_id', 'ref', 'recipient_id'],
      clustered: true,
    },
  ],
}

/** Workflows: several agents that act in a run by turns. */
export const workflows: Migration = {
  name: '0043-workflows',
  tables: [
    {
      name: 'workflows',
      columns: {
        tenant_id: 'text',
        workflow_id: 'text',
        mode: 'text',
        agent_ids: 'text',
        supervisor_agent_id: 'text?',
        max_rounds: 'int',
        max_total_steps: 'int',
        one_at_a_time: 'int',
        definition_label: 'text',
        secret_no: 'int',
        sealed: 'blob',
        run_id: 'text?',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'workflow_id'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'secret_no'] }],
    },
  ],
  columns: [
    { table: 'runs', name: 'workflow_id', column: 'text?' },
    { table: 'run_steps', name: 'turn_no', column: 'int?' },
  ],
}

/** When an agent got its current version. */
export const agentVersions: Migration = {
  name: '0050-agent-versions',
  tables: [],
  columns: [{ table: 'agents', name: 'updated_us', column: 'int?' }],
}

/** The step that logged a decision. */
export const stepDecisions: Migration = {
  name: '0051-step-decisions',
  tables: [],
  indexes: [
    {
      table: 'run_steps',
      columns: ['tenant_id', 'decision_id'],
      where: 'decision_id is not null',
    },
  ],
}

/** Facts that a model extracted from conversations, with the turns that each is from. */
export const extractedFacts: Migration = {
  name: '0055-extracted-facts',
  tables: [],
  columns: [{ table: 'digest_sources', name: 'extracted', column: 'int?' }],
}

/** Who executes a call of a run, and the record that a waiting call depends on. */
export const toolKinds: Migration = {
  name: '0060-tool-kinds',
  tables: [],
  columns: [
    { table: 'run_calls', name: 'kind', column: 'text?' },
    { table: 'run_calls', name: 'record_id', column: 'text?' },
  ],
}

/** How a run that ends other than completed is undone. */
export const compensation: Migration = {
  name: '0061-compensation',
  tables: [],
  columns: [
    { table: 'runs', name: 'on_failure', column: 'text?' },
    { table: 'runs', name: 'ends_as', column: 'text?' },
    { table: 'runs', name: 'compensation', column: 'text?' },
    { table: 'run_calls', name: 'compensates', column: 'text?' },
  ],
}

/** Tenants that are being moved to another cluster, or were moved from or to one. */
export const tenantMoves: Migration = {
  name: '0065-tenant-moves',
  tables: [
    {
      name: 'tenant_moves',
      columns: {
        tenant_id: 'text',
        move_id: 'text',
        state: 'text',
        address: 'text',
        started_us: 'int',
        proof: 'text?',
      },
      primary_key: ['tenant_id'],
    },
  ],
}

/** Why a tenant that is being moved accepts no units of work; read together with its lock. */
export const tenantFences: Migration = {
  name: '0066-tenant-fences',
  // Only tenants on PostgreSQL can be moved.
  engine: 'postgres',
  tables: [],
  columns: [{ table: 'tenant_locks', name: 'fence', column: 'text?' }],
}

/** Deadline of the compensation of a run, and who or what stopped it before. */
export const compensationEnd: Migration = {
  name: '0070-compensation-end',
  tables: [],
  columns: [
    { table: 'runs', name: 'compensation_until_us', column: 'int?' },
    { table: 'runs', name: 'compensation_stopped', column: 'text?' },
  ],
}

/** Timestamps of an authority on checkpoints of a tenant's log. */
export const epochTimestamps: Migration = {
  name: '0075-epoch-timestamps',
  tables: [
    {
      name: 'epoch_timestamps',
      columns: {
        tenant_id: 'text',
        epoch_number: 'int',
        token: 'blob',
        stamped_us: 'int',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'epoch_number'],
    },
  ],
}

/** Finds the progress of a replay, and what a decision used, without reading all of a tenant. */
export const replaysAndUses: Migration = {
  name: '0080-replays-and-uses',
  tables: [],
  indexes: [
    {
      table: 'webhook_deliveries',
      columns: ['tenant_id', 'webhook_id', 'job_id', 'seq'],
      where: 'job_id is not null',
    },
    { table: 'decision_facts', columns: ['tenant_id', 'decision_seq'] },
  ],
}
