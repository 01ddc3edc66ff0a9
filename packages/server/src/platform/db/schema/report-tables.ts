// The tables of reports, assurance runs and conformance audits.

import type { AssuranceStatus, AssuranceTrigger } from '@custos/contract'
import { blob, integer, nullable, tenantId, text } from './columns.ts'

export const reportTables = {
  reports: {
    tenant_id: tenantId,
    /** Position of its entry on the log. */
    seq: integer,
    report_id: blob('minted', 'random id'),
    report_type: text('enum', 'frameworks'),
    overall_finding: text('enum', 'findings'),
    period_start_us: integer,
    period_end_us: integer,
    log_seq: integer,
    content_hash: blob('digest', 'of the content, in which no memory is'),
    size_bytes: integer,
    created_us: integer,
    deleted_us: nullable(integer),
    secret_no: integer,
    /** Null: deleted. */
    sealed_title: nullable(blob('sealed', 'the title; no memory is in it')),
    sealed: nullable(blob('sealed', 'the signed report: counts, ids, names of models')),
  },
  /** Until the report is made, or its job is cancelled. */
  report_requests: {
    tenant_id: tenantId,
    report_id: blob('minted', 'random id'),
    secret_no: integer,
    sealed_title: blob('sealed', 'the title; no memory is in it'),
  },
  assurance_schedules: {
    tenant_id: tenantId,
    schedule_id: text('minted', 'random id'),
    interval_min: integer,
    /** Names of checks, as asked for. */
    checks: text('enum', 'names of checks'),
    enabled: integer,
    next_due_us: integer,
    last_run_id: nullable(text('minted', 'random id')),
    created_us: integer,
    created_by: text('minted', 'key id'),
  },
  assurance_runs: {
    tenant_id: tenantId,
    run_id: text('minted', 'random id'),
    begun_by: text<AssuranceTrigger>('enum', 'what began it'),
    schedule_id: nullable(text('minted', 'random id')),
    requested_by: text('minted', 'key id'),
    /** Names of checks, as asked for. */
    checks: text('enum', 'names of checks'),
    status: text<AssuranceStatus>('enum', 'states of a run'),
    results: nullable(text('composed', 'counts, ids and fixed descriptions of faults')),
    drift: nullable(text('composed', 'counts, digests and fixed descriptions')),
    drift_count: integer,
    baseline_id: nullable(text('minted', 'random id')),
    error: nullable(text('minted', 'name of an error class, never its message')),
    seed: text('minted', 'random'),
    /** Position of its entry on the log. */
    log_seq: nullable(integer),
    /** What an audit has made and has to take away again. */
    scratch: nullable(text('composed', 'ids of keys and stores an audit made')),
    started_us: integer,
    completed_us: nullable(integer),
    /** In the past: the process that ran it has ended. */
    lease_until_us: integer,
  },
  assurance_baselines: {
    tenant_id: tenantId,
    baseline_id: text('minted', 'random id'),
    run_id: text('minted', 'random id'),
    captured_us: integer,
    snapshot: text('composed', 'counts, digests, key ids'),
  },
  conformance_audits: {
    tenant_id: tenantId,
    /** Position of its entry on the log. */
    seq: integer,
    audit_id: text('minted', 'random id'),
    run_id: text('minted', 'random id'),
    store_id: nullable(text('minted', 'id of a store the suite made')),
    rate_e6: integer,
    capabilities: text('enum', 'capabilities'),
    audited_us: integer,
    /** The signed result. */
    record: text('composed', 'what the suite measured of its own words'),
  },
}
