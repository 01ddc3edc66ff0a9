// The tables of assurance and of conformance audits.

import type { AssuranceStatus, AssuranceTrigger } from '@custos/contract'

export interface AssuranceTables {
  assurance_schedules: {
    tenant_id: string
    schedule_id: string
    interval_min: number
    /** Names of checks, as asked for. */
    checks: string
    enabled: number
    next_due_us: number
    last_run_id: string | null
    created_us: number
    created_by: string
  }
  assurance_runs: {
    tenant_id: string
    run_id: string
    begun_by: AssuranceTrigger
    schedule_id: string | null
    requested_by: string
    /** Names of checks, as asked for. */
    checks: string
    status: AssuranceStatus
    results: string | null
    drift: string | null
    drift_count: number
    baseline_id: string | null
    error: string | null
    seed: string
    /** Position of its entry on the log. */
    log_seq: number | null
    /** What an audit has made and has to take away again. */
    scratch: string | null
    started_us: number
    completed_us: number | null
    /** Past: whoever was at it is gone. */
    lease_until_us: number
  }
  assurance_baselines: {
    tenant_id: string
    baseline_id: string
    run_id: string
    captured_us: number
    snapshot: string
  }
  conformance_audits: {
    tenant_id: string
    /** Position of its entry on the log. */
    seq: number
    audit_id: string
    run_id: string
    store_id: string | null
    rate_e6: number
    capabilities: string
    audited_us: number
    /** The signed result. */
    record: string
  }
}
