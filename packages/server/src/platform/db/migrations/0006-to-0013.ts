// Migrations of reputation, reports, subject requests, retention and off-boarding.

import type { Migration } from './ddl.ts'

/** Reputation: judgments, outcomes and reviews, and the figures that scores are computed from. */
export const reputation: Migration = {
  name: '0006-reputation',
  tables: [
    {
      // One row per agent and dimension, with all of a score but the reviews.
      name: 'cgr_agents',
      columns: {
        tenant_id: 'text',
        /** Log position of its first decision. */
        agent_no: 'int',
        dimension: 'blob',
        identity: 'blob',
        kind: 'text',
        anchor: 'blob?',
        /** Log position of its newest decision. */
        newest_seq: 'int',
        n_success: 'int',
        n_failure: 'int',
        n_pending: 'int',
        n_unscored: 'int',
      },
      primary_key: ['tenant_id', 'agent_no'],
      unique: [{ columns: ['tenant_id', 'identity'] }],
      indexes: [
        { columns: ['tenant_id', 'dimension', 'agent_no'] },
        { columns: ['tenant_id', 'anchor'], where: 'anchor is not null' },
      ],
    },
    {
      name: 'cgr_names',
      columns: { tenant_id: 'text', name: 'blob', agent_no: 'int' },
      primary_key: ['tenant_id', 'name', 'agent_no'],
      clustered: true,
    },
    {
      name: 'cgr_decisions',
      columns: {
        tenant_id: 'text',
        seq: 'int',
        decision_id: 'blob',
        agent_no: 'int',
        referent: 'blob?',
        decision: 'text',
        tag: 'text',
        /** 1 if it is the judgment that counts for its agent and referent. */
        current: 'int',
        handle: 'blob',
        anchor: 'blob?',
        signed_us: 'int?',
        recorded_by: 'text',
        recorded_us: 'int',
        secret_no: 'int',
        sealed_name: 'blob',
        sealed: 'blob',
      },
      primary_key: ['tenant_id', 'seq'],
      unique: [
        { columns: ['tenant_id', 'decision_id'] },
        {
          columns: ['tenant_id', 'agent_no', 'referent'],
          where: 'current = 1 and referent is not null',
        },
      ],
      indexes: [
        { columns: ['tenant_id', 'referent'], where: 'current = 1 and referent is not null' },
        { columns: ['tenant_id', 'secret_no'] },
      ],
    },
    {
      name: 'cgr_outcomes',
      columns: {
        tenant_id: 'text',
        referent: 'blob',
        outcome: 'text',
        amount: 'real?',
        content: 'blob',
        reporter: 'blob?',
        signed_us: 'int?',
        event_us: 'int',
        seq: 'int',
        recorded_by: 'text',
      },
      primary_key: ['tenant_id', 'referent'],
    },
    {
      name: 'cgr_reviewers',
      columns: {
        tenant_id: 'text',
        /** Log position of its first review. */
        reviewer_no: 'int',
        name: 'blob',
        anchor: 'blob?',
        observations: 'int',
        /** The sum of squared errors in 1e-12 is `error_ones` · 1e12 + `error_parts`. */
        error_ones: 'int',
        error_parts: 'int',
      },
      primary_key: ['tenant_id', 'reviewer_no'],
      unique: [{ columns: ['tenant_id', 'name'] }],
    },
    {
      name: 'cgr_reviews',
      columns: {
        tenant_id: 'text',
        referent: 'blob',
        reviewer_no: 'int',
        rating_e6: 'int',
        /** The agent that it is limited to, or null. */
        agent_no: 'int?',
        /** The handle that it is limited to, or null. */
        handle: 'blob?',
        content: 'blob',
        event_us: 'int',
        seq: 'int',
        recorded_by: 'text',
      },
      primary_key: ['tenant_id', 'referent', 'reviewer_no'],
    },
    {
      // Judgment-certifies of an agent without an outcome, by reviewer.
      name: 'cgr_live_reviews',
      columns: {
        tenant_id: 'text',
        agent_no: 'int',
        reviewer_no: 'int',
        count: 'int',
        rating_sum_e6: 'int',
      },
      primary_key: ['tenant_id', 'agent_no', 'reviewer_no'],
      clustered: true,
    },
    {
      name: 'cgr_rotations',
      columns: {
        tenant_id: 'text',
        seq: 'int',
        anchor: 'blob',
        position: 'int',
        prev_key: 'blob',
        new_key: 'blob',
        not_before_us: 'int?',
        secret_no: 'int',
        sealed: 'blob',
      },
      primary_key: ['tenant_id', 'seq'],
      unique: [
        { columns: ['tenant_id', 'prev_key'] },
        { columns: ['tenant_id', 'new_key'] },
        { columns: ['tenant_id', 'anchor', 'position'] },
      ],
      indexes: [{ columns: ['tenant_id', 'secret_no'] }],
    },
    {
      name: 'cgr_attestations',
      columns: {
        tenant_id: 'text',
        seq: 'int',
        attestation_id: 'blob',
        agent_no: 'int',
        secret_no: 'int',
        sealed: 'blob',
      },
      primary_key: ['tenant_id', 'seq'],
      unique: [{ columns: ['tenant_id', 'attestation_id'] }],
      indexes: [
        { columns: ['tenant_id', 'agent_no', 'seq'] },
        { columns: ['tenant_id', 'secret_no'] },
      ],
    },
    {
      name: 'cgr_settings',
      columns: {
        tenant_id: 'text',
        compare_credentials: 'int',
        judgments_final: 'int',
        changed_us: 'int',
        changed_by: 'text',
      },
      primary_key: ['tenant_id'],
    },
  ],
}

/** Reports, whose content is sealed. A deleted report leaves a tombstone. */
export const reports: Migration = {
  name: '0007-reports',
  tables: [
    {
      name: 'reports',
      columns: {
        tenant_id: 'text',
        seq: 'int',
        report_id: 'blob',
        report_type: 'text',
        overall_finding: 'text',
        period_start_us: 'int',
        period_end_us: 'int',
        log_seq: 'int',
        content_hash: 'blob',
        size_bytes: 'int',
        created_us: 'int',
        deleted_us: 'int?',
        secret_no: 'int',
        sealed_title: 'blob?',
        sealed: 'blob?',
      },
      primary_key: ['tenant_id', 'seq'],
      unique: [{ columns: ['tenant_id', 'report_id'] }],
      indexes: [{ columns: ['tenant_id', 'secret_no'] }],
    },
  ],
}

/**
 * Requests of reports that are not created yet. They hold the caller's text; the job has only ids
 * and numbers.
 */
export const reportRequests: Migration = {
  name: '0008-report-requests',
  tables: [
    {
      name: 'report_requests',
      columns: {
        tenant_id: 'text',
        report_id: 'blob',
        secret_no: 'int',
        sealed_title: 'blob',
      },
      primary_key: ['tenant_id', 'report_id'],
      indexes: [{ columns: ['tenant_id', 'secret_no'] }],
    },
  ],
}

/** Subject requests: the search is sealed; the affected records are listed by number. */
export const subjects: Migration = {
  name: '0009-subjects',
  tables: [
    {
      name: 'subject_requests',
      columns: {
        tenant_id: 'text',
        seq: 'int',
        request_id: 'blob',
        kind: 'text',
        status: 'text',
        job_id: 'text?',
        find_label: 'blob',
        found_digest: 'blob',
        facts: 'int',
        superseded_facts: 'int',
        decisions_using: 'int',
        decisions_naming: 'int',
        held: 'int',
        log_seq: 'int',
        searched_seq: 'int',
        rounds: 'int',
        items_done: 'int',
        items: 'int',
        received_us: 'int',
        due_us: 'int',
        extended_us: 'int?',
        created_us: 'int',
        started_us: 'int?',
        completed_us: 'int?',
        made_by: 'text',
        secret_no: 'int',
        sealed: 'blob?',
        sealed_reason: 'blob?',
        manifest: 'text?',
      },
      primary_key: ['tenant_id', 'seq'],
      unique: [{ columns: ['tenant_id', 'request_id'] }],
      indexes: [
        { columns: ['tenant_id', 'secret_no'] },
        { columns: ['tenant_id', 'due_us'], where: 'completed_us is null' },
      ],
    },
    {
      name: 'subject_items',
      columns: {
        tenant_id: 'text',
        request_id: 'blob',
        item: 'text',
        outcome: 'text?',
        certificate_id: 'text?',
      },
      primary_key: ['tenant_id', 'request_id', 'item'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'request_id'], where: 'outcome is null' }],
    },
  ],
}

/** Retention periods of stores, and the legal holds that prevent erasure. */
export const retention: Migration = {
  name: '0010-retention',
  // Finds due memories by their age, however large the store is.
  indexes: [{ table: 'facts', columns: ['tenant_id', 'store_id', 'written_us'] }],
  tables: [
    {
      name: 'store_retention',
      columns: {
        tenant_id: 'text',
        store_id: 'text',
        retain_days: 'int?',
        set_us: 'int',
        set_by: 'text',
        sealed: 'blob?',
        job_id: 'text?',
        run_days: 'int?',
        run_cutoff_us: 'int?',
        run_started_us: 'int?',
        run_erased: 'int',
        run_batch: 'text?',
        last_us: 'int?',
        last_erased: 'int',
      },
      primary_key: ['tenant_id', 'store_id'],
    },
    {
      name: 'store_holds',
      columns: {
        tenant_id: 'text',
        hold_id: 'text',
        store_id: 'text',
        placed_seq: 'int',
        placed_us: 'int',
        placed_by: 'text',
        until_us: 'int?',
        released_us: 'int?',
        released_by: 'text?',
        sealed: 'blob',
        sealed_release: 'blob?',
      },
      primary_key: ['tenant_id', 'hold_id'],
      indexes: [{ columns: ['tenant_id', 'store_id', 'placed_seq'] }],
    },
  ],
}

/** Off-boarding: tenants that are destroyed or about to be, and their certificates. */
export const offboarding: Migration = {
  name: '0011-offboarding',
  tables: [
    {
      name: 'destructions',
      columns: {
        tenant_id: 'text',
        certificate_id: 'text',
        requested_us: 'int',
        reasons: 'text',
        log_seq: 'int?',
        destroyed_us: 'int?',
        record: 'text?',
        job_id: 'text?',
        removed_us: 'int?',
      },
      primary_key: ['tenant_id'],
    },
  ],
  // The names that callers gave keys are removed with the tenant.
  grants: [
    { table: 'credentials', rights: 'update (name)' },
    { table: 'jobs', rights: 'delete' },
    { table: 'policy_sets', rights: 'delete' },
  ],
}

/** Assurance: schedules, runs and baselines of self-checks, and audits of conformance. */
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

/** Credentials that are limited to a namespace, and tokens with the key that made them. */
export const credentialLimits: Migration = {
  name: '0013-credential-limits',
  tables: [
    {
      name: 'credential_limits',
      columns: {
        key_id: 'text',
        tenant_id: 'text',
        maker_id: 'text?',
        secret_no: 'int',
        sealed: 'blob',
        ends_us: 'int?',
      },
      primary_key: ['key_id'],
      indexes: [{ columns: ['tenant_id', 'secret_no'] }, { columns: ['ends_us'] }],
    },
  ],
  indexes: [
    // Pages of a namespace, however many other memories its store has. The root needs no index.
    {
      table: 'facts',
      columns: ['tenant_id', 'store_id', 'namespace', 'ref'],
      where: 'namespace is not null',
    },
  ],
  // Limited credentials are deleted once they have ended.
  grants: [{ table: 'credentials', rights: 'delete' }],
}
