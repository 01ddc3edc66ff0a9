// Policies with all their versions, what they said, and how often requests came.

import type { Migration } from './ddl.ts'

export const governance: Migration = {
  name: '0003-governance',
  tables: [
    // A control table: read with the credential, so that no process uses policies of yesterday.
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
