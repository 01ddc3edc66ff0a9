// Reports for tests of their files: contents as they are made, over entries laid out by hand.

import type { Report, ReportType } from '@custos/contract'
import { canonicalize, type JsonObject } from '@custos/proof'
import { sha256 } from '../../../server/src/platform/bytes.ts'
import { makeContent } from '../../../server/src/slices/reports/content.ts'
import { Tally } from '../../../server/src/slices/reports/tally.ts'
import type { LogWalk } from '../../../server/src/slices/reports/walk-log.ts'

const PERIOD = { from: '2026-10-01T00:00:00.000000Z', to: '2026-11-01T00:00:00.000000Z' }
const DECISIONS = 30

const hex = (text: string): string => Buffer.from(sha256(Buffer.from(text))).toString('hex')
const id = (text: string): string => hex(text).slice(0, 32)

/** A month with decisions, an erasure and a policy; or with nothing at all. */
function walkedOf(entries: 'some' | 'none'): LogWalk {
  const tally = new Tally(PERIOD)
  let seq = 0
  const take = (event_type: string, payload: JsonObject = {}) => {
    const day = String(1 + (seq % 28)).padStart(2, '0')
    const created_at = `2026-10-${day}T12:00:00.000000Z`
    tally.take({ seq, event_type, subject: id(`${event_type} ${seq}`), created_at, payload })
    seq += 1
  }
  if (entries === 'some') {
    take('policy.created', { action: 'escalate', policy_type: 'hitl_required', enabled: true })
    for (let i = 0; i < DECISIONS; i += 1) take('decision.logged')
    take('memory.written', { count: 3 })
    take('memory.erased')
    take('erasure.certified')
  }
  return {
    log_seq: seq - 1,
    log: {
      status: seq === 0 ? 'empty' : 'intact',
      entries_verified: seq,
      root_hash: seq === 0 ? null : hex('root'),
      epochs_verified: seq === 0 ? 0 : 1,
      last_epoch: seq === 0 ? null : { epoch_number: 1, tree_size: 20 },
      checkpoint: seq === 0 ? 'none' : 'valid',
      reason: null,
      at_seq: null,
    },
    tally,
    checkpoints: seq === 0 ? { count: 0, last_seq: null } : { count: 1, last_seq: 19 },
    decided: { count: 0, models: [], models_total: 0, average_latency_ms: null },
  }
}

export interface Sample {
  readonly report_type?: ReportType
  readonly title?: string
  readonly entries?: 'some' | 'none'
  readonly report_id?: string
}

export function sampleReport(sample: Sample = {}): Report {
  const { report_type = 'full_audit', title = 'For the auditor', entries = 'some' } = sample
  const tenant_id = id('tenant')
  const period = { period_start: PERIOD.from, period_end: PERIOD.to }
  const walked = walkedOf(entries)
  const made = makeContent({ tenant_id, report_type, ...period }, walked)
  const text = canonicalize(made.content)
  const at = '2026-11-02T08:00:00.123456Z'
  return {
    record_kind: 'report',
    report_version: 2,
    report_id: sample.report_id ?? id('report'),
    tenant_id,
    tenant_name: 'North Ward',
    report_type,
    framework: report_type,
    title,
    headline: made.headline,
    status: 'complete',
    overall_status: made.overall_finding,
    overall_finding: made.overall_finding,
    ...period,
    log_seq: walked.log_seq,
    content_hash: hex(text),
    file_size_bytes: text.length,
    generated_at: at,
    created_at: at,
    sections: made.sections,
    content: made.content,
    signature: Buffer.alloc(64, 7).toString('base64'),
    public_key: Buffer.alloc(32, 9).toString('base64'),
    key_id: '0123456789abcdef',
  }
}
