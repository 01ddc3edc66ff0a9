// Regulatory reports (interface 4.14): the evidence on record for each article of a framework.

import Type, { type Static } from 'typebox'
import {
  Base64,
  Cursor,
  Hex16,
  Hex32,
  JsonObject,
  Label,
  Limit,
  Nullable,
  Offset,
  page,
  Timestamp,
} from './common.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

export const REPORT_FRAMEWORKS = [
  'eu_ai_act',
  'gdpr',
  'dora',
  'nist_ai_rmf',
  'iso_42001',
  'colorado_ai',
  'hipaa',
] as const
export type ReportFramework = (typeof REPORT_FRAMEWORKS)[number]

/** A framework, or all of them together. */
export const REPORT_TYPES = [...REPORT_FRAMEWORKS, 'full_audit'] as const
export type ReportType = (typeof REPORT_TYPES)[number]

export const REPORT_FINDINGS = [
  'EVIDENCE_FOUND',
  'PARTIAL',
  'INSUFFICIENT_DATA',
  'NOT_AUTOMATABLE',
] as const
export type ReportFinding = (typeof REPORT_FINDINGS)[number]

export const REPORT_AUTOMATIONS = ['full', 'partial', 'manual'] as const
export type ReportAutomation = (typeof REPORT_AUTOMATIONS)[number]

export const REPORT_PERIOD_DAYS_MAX = 366
/** Ids of records shown with a piece of evidence. */
export const REPORT_SAMPLES_MAX = 20

const Finding = Type.Enum(REPORT_FINDINGS)
const Count = Type.Integer({ minimum: 0 })
/** `2026-08-02`; a month alone where the day is not known. */
const Day = Type.String({ pattern: '^\\d{4}-\\d{2}(-\\d{2})?$' })

export const GenerateReportRequest = Type.Object({
  /** `full_audit` where neither is given. */
  report_type: Type.Optional(Type.Enum(REPORT_TYPES)),
  /** The same under its other name. */
  framework: Type.Optional(Type.Enum(REPORT_TYPES)),
  /** Up to now, or up to `to`; 30 where `from` is not given either. */
  period_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 365 })),
  from: Type.Optional(Timestamp),
  /** The first moment that is no longer of the period; it has come already. */
  to: Type.Optional(Timestamp),
  /** Of an earlier report, to have the same content again; left out, all of the log. */
  log_seq: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  title: Type.Optional(Label),
  /** Answers 202 at once, and makes the report as a job. */
  background: Type.Optional(Type.Boolean({ default: false })),
})
export type GenerateReportRequest = Static<typeof GenerateReportRequest>

/** Of a report that is being made: period and position of the log are fixed by now. */
export const ReportOrdered = Type.Object({
  status: Type.Literal('generating'),
  /** `GET /v1/reports/{report_id}` finds it once the job is done. */
  report_id: Hex16,
  job_id: Type.String(),
  report_type: Type.Enum(REPORT_TYPES),
  period_start: Timestamp,
  period_end: Timestamp,
  log_seq: Type.Integer({ minimum: -1 }),
})
export type ReportOrdered = Static<typeof ReportOrdered>

const ReportSection = Type.Object({
  /** Its name among the sections of the content. */
  key: Type.String(),
  framework: Type.Enum(REPORT_FRAMEWORKS),
  article: Type.String(),
  title: Type.String(),
  status: Finding,
  /** How often each kind of evidence was found in the period. */
  evidence: Type.Record(Type.String(), Count),
})
export type ReportSection = Static<typeof ReportSection>

const summary = {
  report_id: Type.String(),
  tenant_id: Type.String(),
  report_type: Type.Enum(REPORT_TYPES),
  /** The same. */
  framework: Type.Enum(REPORT_TYPES),
  title: Nullable(Type.String()),
  status: Type.Enum(['complete', 'deleted']),
  overall_status: Finding,
  /** The same. */
  overall_finding: Finding,
  period_start: Timestamp,
  period_end: Timestamp,
  /** The last position of the log that was taken account of. */
  log_seq: Type.Integer({ minimum: -1 }),
  /** SHA-256 over the canonical JSON of `content`. */
  content_hash: Hex32,
  /** Bytes of the canonical JSON of `content`. */
  file_size_bytes: Count,
  generated_at: Timestamp,
  /** The same. */
  created_at: Timestamp,
}

export const ReportSummary = Type.Object({ ...summary, deleted_at: Nullable(Timestamp) })
export type ReportSummary = Static<typeof ReportSummary>

export const Report = Type.Object({
  record_kind: Type.Literal('report'),
  ...summary,
  title: Type.String(),
  status: Type.Literal('complete'),
  sections: Type.Array(ReportSection),
  content: JsonObject,
  signature: Base64,
  public_key: Base64,
  key_id: Type.String(),
})
export type Report = Static<typeof Report>

export const REPORT_FORMATS = ['json', 'html', 'pdf', 'oscal'] as const
export type ReportFormat = (typeof REPORT_FORMATS)[number]

/** A document of NIST OSCAL 1.1.3, whose own schema says what is in it. */
const AssessmentResults = Type.Object({ 'assessment-results': JsonObject })

const Source = Type.Object({ name: Type.String(), url: Type.String() })

const FrameworkShown = Type.Object({
  type: Type.Enum(REPORT_TYPES),
  name: Type.String(),
  regulation: Type.String(),
  /** As the catalogue numbers them. */
  articles: Type.Array(Type.String()),
  catalogue: Type.Array(
    Type.Object({
      key: Type.String(),
      framework: Type.Enum(REPORT_FRAMEWORKS),
      article: Type.String(),
      title: Type.String(),
      in_force_from: Nullable(Day),
      in_force_to: Nullable(Day),
      source: Source,
      sources: Type.Array(Source),
      /** Two sources agree. */
      verified: Type.Boolean(),
      evidence: Type.Array(Type.String()),
      automation: Type.Enum(REPORT_AUTOMATIONS),
      /** What remains for people to show. */
      not_covered: Type.String(),
    }),
  ),
})

const params = Type.Object({ report_id: Hex16 })
const read = { access: 'tenant', scope: 'compliance:read' } as const
const admin = { access: 'tenant', scope: 'compliance:admin' } as const
const path = '/v1/reports'
const one = `${path}/{report_id}` as const

export const reports = {
  stats: operation({
    ...read,
    id: 'reports.stats',
    method: 'GET',
    path: `${path}/stats`,
    summary: 'How many reports there are',
    status: 200,
    reply: Type.Object({
      total_reports: Count,
      complete: Count,
      deleted: Count,
      frameworks_used: Type.Array(Type.Enum(REPORT_TYPES)),
      last_report: Nullable(Timestamp),
    }),
    refuses: [],
  }),
  frameworks: operation({
    id: 'reports.frameworks',
    access: 'tenant',
    method: 'GET',
    path: `${path}/frameworks`,
    summary: 'The frameworks with their articles, dates, sources and kinds of evidence',
    status: 200,
    reply: Type.Object({
      frameworks: Type.Array(FrameworkShown),
      catalogue_version: Type.String(),
      /** What each kind of evidence is. */
      evidence: Type.Record(Type.String(), Type.String()),
    }),
    refuses: [],
  }),
  generate: operation({
    ...admin,
    id: 'reports.generate',
    method: 'POST',
    path: `${path}/generate`,
    summary: 'Makes and signs a report on the evidence in a period',
    description:
      'The log is verified from its beginning, and what it says of the period is counted. A ' +
      'finding tells whether evidence is on record, never whether a law is kept. `content` ' +
      'follows from tenant, framework, period and `log_seq` alone: asked again with the same ' +
      '`from`, `to` and `log_seq` it is the same to the byte. A key limited to some stores is ' +
      'refused: a report is about all of them. With `background` the answer is a 202, and a job ' +
      '`report.generate` makes it: `GET /v1/jobs/{job_id}` says how many entries of the log are ' +
      'walked, `DELETE` cancels it. Without, whoever goes away before the answer stops the work.',
    body: GenerateReportRequest,
    body_optional: true,
    status: 200,
    reply: Report,
    accepted: ReportOrdered,
    refuses: ['rejected', 'no_signing_key', 'idempotency_key_reused'],
    idempotent: true,
  }),
  list: operation({
    ...read,
    id: 'reports.list',
    method: 'GET',
    path,
    summary: 'The reports, newest first',
    query: Type.Object({
      include_deleted: Type.Optional(Type.Boolean({ default: false })),
      limit: Limit(limits.records_page),
      offset: Offset,
      cursor: Cursor,
    }),
    status: 200,
    reply: page('reports', ReportSummary),
    refuses: ['rejected'],
  }),
  get: operation({
    ...read,
    id: 'reports.get',
    method: 'GET',
    path: one,
    summary: 'One report with its content',
    params,
    status: 200,
    reply: Report,
    refuses: ['report_not_found'],
  }),
  download: operation({
    ...read,
    id: 'reports.download',
    method: 'GET',
    path: `${one}/download`,
    summary: 'One report as a file: JSON that `custos verify` takes, a page, a PDF, or OSCAL',
    description:
      '`json` is the signed report; `html` and `pdf` say the same to people, with charts; ' +
      '`oscal` is an assessment-results document of NIST OSCAL 1.1.3. The same report gives the ' +
      'same bytes each time. Only `json` is signed.',
    params,
    query: Type.Object({
      format: Type.Optional(Type.Enum(REPORT_FORMATS, { default: 'json' })),
    }),
    status: 200,
    reply: Type.Union([Report, AssessmentResults]),
    file_types: ['application/json; charset=utf-8', 'text/html; charset=utf-8', 'application/pdf'],
    refuses: ['report_not_found'],
  }),
  delete: operation({
    ...admin,
    id: 'reports.delete',
    method: 'DELETE',
    path: one,
    summary: 'Deletes what a report says; that there was one stays on record',
    params,
    status: 200,
    reply: Type.Object({
      deleted: Type.Literal(true),
      report_id: Type.String(),
      deleted_at: Timestamp,
    }),
    refuses: ['report_not_found'],
  }),
} as const
