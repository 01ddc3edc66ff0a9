// Assurance: schedules, runs and baselines of self-checks, and audits of conformance.

import type { Migration } from './ddl.ts'

export const assurance: Migration = {
  name: '0012-assurance',
  tables: [
    {
      name: 'assurance_schedules',
      columns: {
        tenant_id: 'text',
        schedule_id: 'text',
        interval_min: 'int',
        checks: 'text',
        enabled: 'int',
        next_due_us: 'int',
        last_run_id: 'text?',
        created_us: 'int',
        created_by: 'text',
      },
      primary_key: ['tenant_id', 'schedule_id'],
      indexes: [{ columns: ['tenant_id', 'next_due_us'], where: 'enabled = 1' }],
    },
    {
      name: 'assurance_runs',
      columns: {
        tenant_id: 'text',
        run_id: 'text',
        begun_by: 'text',
        schedule_id: 'text?',
        requested_by: 'text',
        checks: 'text',
        status: 'text',
        results: 'text?',
        drift: 'text?',
        drift_count: 'int',
        baseline_id: 'text?',
        error: 'text?',
        seed: 'text',
        log_seq: 'int?',
        scratch: 'text?',
        started_us: 'int',
        completed_us: 'int?',
        lease_until_us: 'int',
      },
      primary_key: ['tenant_id', 'run_id'],
      indexes: [
        { columns: ['tenant_id', 'started_us'] },
        { columns: ['tenant_id', 'lease_until_us'], where: "status = 'running'" },
      ],
    },
    {
      name: 'assurance_baselines',
      columns: {
        tenant_id: 'text',
        baseline_id: 'text',
        run_id: 'text',
        captured_us: 'int',
        snapshot: 'text',
      },
      primary_key: ['tenant_id', 'baseline_id'],
      indexes: [{ columns: ['tenant_id', 'captured_us'] }],
    },
    {
      name: 'conformance_audits',
      columns: {
        tenant_id: 'text',
        seq: 'int',
        audit_id: 'text',
        run_id: 'text',
        store_id: 'text?',
        rate_e6: 'int',
        capabilities: 'text',
        audited_us: 'int',
        record: 'text',
      },
      primary_key: ['tenant_id', 'seq'],
      unique: [{ columns: ['tenant_id', 'audit_id'] }],
    },
  ],
}
