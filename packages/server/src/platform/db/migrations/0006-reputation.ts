// Reputation: judgments, outcomes and reviews, and what the scores are read from.

import type { Migration } from './ddl.ts'

export const reputation: Migration = {
  name: '0006-reputation',
  tables: [
    {
      // One row for each agent and dimension: all of a score but the reviews.
      name: 'cgr_agents',
      columns: {
        tenant_id: 'text',
        /** The place on the log of its first decision. */
        agent_no: 'int',
        dimension: 'blob',
        identity: 'blob',
        kind: 'text',
        anchor: 'blob?',
        /** The place on the log of its newest decision. */
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
        /** 1: the one that counts for its agent and referent. */
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
        /** The place on the log of its first review. */
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
        /** The agent it is limited to. */
        agent_no: 'int?',
        /** The handle it is limited to. */
        handle: 'blob?',
        content: 'blob',
        event_us: 'int',
        seq: 'int',
        recorded_by: 'text',
      },
      primary_key: ['tenant_id', 'referent', 'reviewer_no'],
    },
    {
      // Of an agent's judgment-certifies without an outcome, by reviewer.
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
