// Regulatory reports (interface 4.14): the recorded evidence for each article of a framework.

import Type, { type Static } from 'typebox'
import {
  about,
  Base64,
  boolean,
  Count,
  Cursor,
  count,
  dateOrTime,
  Hex16,
  Hex32,
  integer,
  JsonObject,
  Label,
  Limit,
  Nullable,
  Offset,
  page,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'

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

/** One framework, or all of them in one report. */
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
/** The most ids of records shown with one kind of evidence. */
export const REPORT_SAMPLES_MAX = 20

const Finding = Type.Enum(REPORT_FINDINGS, {
  title: 'ReportFinding',
  description: 'Whether evidence is on record; it does not say whether a law is complied with',
})
const TypeOfReport = Type.Enum(REPORT_TYPES, {
  title: 'ReportType',
  description: 'A framework, or `full_audit` for all of them',
})
const Framework = Type.Enum(REPORT_FRAMEWORKS, {
  title: 'ReportFramework',
  description: 'A regulatory framework',
})
const Day = Type.String({
  title: 'Day',
  description: 'A date such as `2026-08-02`; a month alone where the day is not known',
  pattern: '^\\d{4}-\\d{2}(-\\d{2})?$',
})

export const GenerateReportRequest = Type.Object({
  report_type: Type.Optional(
    about(TypeOfReport, 'What to report on; default: `framework`, or `full_audit`'),
  ),
  framework: Type.Optional(about(TypeOfReport, 'Same as `report_type`')),
  period_days: Type.Optional(
    integer('Length of the period up to `to` or now; default 30 if `from` is absent too', {
      minimum: 1,
      maximum: 365,
    }),
  ),
  from: Type.Optional(dateOrTime('Start of the period')),
  to: Type.Optional(
    dateOrTime('End of the period, not included and not in the future; today ends now'),
  ),
  log_seq: Type.Optional(
    integer('Log position of an earlier report, to get the same content; default: the newest', {
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
    }),
  ),
  title: Type.Optional(about(Label, 'Title of the report')),
  background: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Replies 202 at once and generates the report as a job',
    }),
  ),
})
export type GenerateReportRequest = Static<typeof GenerateReportRequest>

/** The reply for a report that is being generated. Period and log position are already fixed. */
export const ReportJobReply = Type.Object({
  status: Type.Literal('generating', { description: 'The report is being generated' }),
  report_id: about(Hex16, '`GET /v1/reports/{report_id}` returns it once the job is done'),
  job_id: Type.String(),
  report_type: TypeOfReport,
  period_start: Timestamp,
  period_end: Timestamp,
  log_seq: integer('Last log entry that is counted', { minimum: -1 }),
})
export type ReportJobReply = Static<typeof ReportJobReply>

const articleFields = {
  key: text('Name of the section in `content`'),
  framework: Framework,
  article: text('Article of the framework'),
  title: text('Title of the article'),
  status: Finding,
}
const Figures = Type.Record(Type.String(), Count, {
  title: 'EvidenceFigures',
  description: 'How often each kind of evidence was found in the period',
})

const ReportSection = Type.Object(
  {
    ...articleFields,
    evidence: Type.Array(Type.String(), {
      description: 'What is on record in the period, a sentence for each kind of evidence found',
    }),
    detail: text('The finding in words, with what is missing and what no log can show'),
    figures: Figures,
  },
  { title: 'ReportSection', description: 'The result for one article' },
)
export type ReportSection = Static<typeof ReportSection>

const ReportSectionV1 = Type.Object(
  { ...articleFields, evidence: Figures },
  { title: 'ReportSectionV1', description: 'The result for one article in reports of version 1' },
)

const summary = {
  report_id: text('Id of the report'),
  tenant_id: Type.String(),
  report_type: TypeOfReport,
  framework: about(TypeOfReport, 'Same as `report_type`'),
  title: Nullable(text('Title of the report; null once deleted')),
  status: Type.Enum(['complete', 'deleted'], { description: 'Status of the report' }),
  overall_status: about(Finding, 'Finding over all sections'),
  overall_finding: about(Finding, 'Same as `overall_status`'),
  period_start: Timestamp,
  period_end: Timestamp,
  log_seq: integer('Last log entry that is counted', { minimum: -1 }),
  content_hash: about(Hex32, 'SHA-256 over the canonical JSON of `content`'),
  file_size_bytes: count('Bytes of the canonical JSON of `content`'),
  generated_at: time('When the report was generated'),
  created_at: time('Same as `generated_at`'),
}

export const ReportSummary = Type.Object({
  ...summary,
  deleted_at: Nullable(time('When the report was deleted')),
})
export type ReportSummary = Static<typeof ReportSummary>

export const Report = Type.Object(
  {
    record_kind: Type.Literal('report', { description: 'Kind of signed record' }),
    report_version: Type.Optional(
      Type.Literal(2, { description: 'Version of the signed form; absent: version 1' }),
    ),
    ...summary,
    tenant_name: Type.Optional(text('Name of the tenant at that time; absent from version 1')),
    title: text('Title of the report'),
    headline: Type.Optional(
      text('How many articles have evidence on record; absent from version 1'),
    ),
    status: Type.Literal('complete', { description: 'Status of the report' }),
    sections: Type.Array(Type.Union([ReportSection, ReportSectionV1]), {
      description: 'The result for each article',
    }),
    content: about(JsonObject, 'The evidence, by section'),
    signature: Base64,
    public_key: Base64,
    key_id: Type.String(),
  },
  { title: 'Report', description: 'A signed report' },
)
export type Report = Static<typeof Report>

export const REPORT_FORMATS = ['json', 'html', 'pdf', 'oscal'] as const
export type ReportFormat = (typeof REPORT_FORMATS)[number]

const Format = Type.Enum(REPORT_FORMATS, {
  title: 'ReportFormat',
  description: 'Format of the file',
})

/** A document of NIST OSCAL 1.1.3, whose own schema defines its content. */
const AssessmentResults = Type.Object(
  { 'assessment-results': about(JsonObject, 'A NIST OSCAL 1.1.3 assessment-results document') },
  { title: 'AssessmentResults', description: 'The report as assessment results of OSCAL' },
)

const Source = Type.Object(
  { name: text('Name of the source'), url: text('Address of the source') },
  { title: 'CatalogueSource', description: 'Where a fact was looked up' },
)

const FrameworkEntry = Type.Object({
  type: TypeOfReport,
  name: text('Name of the framework'),
  regulation: text('Official reference of the regulation'),
  articles: Type.Array(Type.String(), { description: 'Articles, as the framework numbers them' }),
  catalogue: Type.Array(
    Type.Object({
      key: text('Name of the section in a report'),
      framework: Framework,
      article: text('Article of the framework'),
      title: text('Title of the article'),
      in_force_from: Nullable(about(Day, 'Day from which the article applies')),
      in_force_to: Nullable(about(Day, 'Day until which the article applies')),
      source: about(Source, 'Main source'),
      sources: Type.Array(Source, { description: 'All sources' }),
      verified: boolean('Whether two sources agree'),
      evidence: Type.Array(Type.String(), { description: 'Kinds of evidence' }),
      automation: Type.Enum(REPORT_AUTOMATIONS, {
        description: 'How much of the article can be shown from records',
      }),
      not_covered: text('What people still have to provide'),
    }),
    { description: 'The articles in detail' },
  ),
})

const report_id = about(Hex16, 'Id of the report')
const params = Type.Object({ report_id })
const read = { access: 'tenant', scope: 'compliance:read' } as const
const admin = { access: 'tenant', scope: 'compliance:admin' } as const
const path = '/v1/reports'
const one = `${path}/{report_id}` as const
const file = {
  status: 200,
  reply: Type.Union([Report, AssessmentResults]),
  file_types: ['application/json; charset=utf-8', 'text/html; charset=utf-8', 'application/pdf'],
  refuses: ['report_not_found'],
} as const

export const reports = {
  stats: operation({
    ...read,
    id: 'reports.stats',
    method: 'GET',
    path: `${path}/stats`,
    summary: 'Counts reports',
    description: 'Use it for an overview of the reports.',
    status: 200,
    reply: Type.Object({
      total_reports: count('Reports, deleted ones included'),
      complete: count('Reports with their content'),
      deleted: count('Deleted reports'),
      frameworks_used: Type.Array(TypeOfReport, { description: 'Types of reports generated' }),
      last_report: Nullable(time('When the last report was generated')),
    }),
    refuses: [],
  }),
  frameworks: operation({
    id: 'reports.frameworks',
    access: 'tenant',
    method: 'GET',
    path: `${path}/frameworks`,
    summary: 'Lists the frameworks with their articles, dates, sources and kinds of evidence',
    description: 'Use it to see what a report covers and what people still have to provide.',
    status: 200,
    tolerated: ['query.limit', 'query.offset'],
    reply: Type.Object({
      frameworks: Type.Array(FrameworkEntry, { description: 'The frameworks' }),
      catalogue_version: text('Version of the catalogue'),
      evidence: Type.Record(Type.String(), Type.String(), {
        description: 'What each kind of evidence is',
      }),
    }),
    refuses: [],
  }),
  generate: operation({
    ...admin,
    id: 'reports.generate',
    method: 'POST',
    path: `${path}/generate`,
    summary: 'Generates and signs a report on the evidence in a period',
    description:
      'Use it to prepare an audit. The audit log is verified from its beginning, and its entries ' +
      'in the period are counted. A finding says whether evidence is on record, never whether a ' +
      'law is complied with. `content` depends only on tenant, framework, period and `log_seq`: ' +
      'the same `from`, `to` and `log_seq` give the same bytes. A key limited to some stores is ' +
      'refused. With `background` the reply is a 202 and a job `report.generate` produces the ' +
      'report: `GET /v1/jobs/{job_id}` shows its progress and `DELETE` cancels it. Without it, ' +
      'closing the connection stops the work.',
    body: GenerateReportRequest,
    body_optional: true,
    example: { framework: 'gdpr', period_days: 7, title: 'Weekly' },
    status: 200,
    reply: Report,
    accepted: ReportJobReply,
    refuses: ['rejected', 'no_signing_key', 'idempotency_key_reused'],
    idempotent: true,
  }),
  list: operation({
    ...read,
    id: 'reports.list',
    method: 'GET',
    path,
    summary: 'Lists reports, newest first',
    description: 'Use it to find a report.',
    query: Type.Object({
      include_deleted: Type.Optional(
        Type.Boolean({ default: false, description: 'Also returns deleted reports' }),
      ),
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
    summary: 'Returns one report with its content',
    description: 'Use it to read or verify a report.',
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
    summary: 'Returns one report as a file: JSON, HTML, PDF or OSCAL',
    description:
      'Use it to hand a report to an auditor. `json` is the signed report, which `custos verify` ' +
      'checks; `html` and `pdf` show the same with charts; `oscal` is an assessment-results ' +
      'document of NIST OSCAL 1.1.3. The same report always gives the same bytes. Only `json` is ' +
      'signed.',
    params,
    query: Type.Object({ format: Type.Optional({ ...Format, default: 'json' }) }),
    ...file,
  }),
  download_format: operation({
    ...read,
    id: 'reports.download_format',
    method: 'GET',
    path: `${one}/download/{format}`,
    summary: 'Returns one report as a file of the format in the path',
    description: 'The same as `GET /v1/reports/{report_id}/download?format=`.',
    params: Type.Object({ report_id, format: Format }),
    ...file,
  }),
  delete: operation({
    ...admin,
    id: 'reports.delete',
    method: 'DELETE',
    path: one,
    summary: 'Deletes the content of a report; that it existed stays on record',
    description: 'Use it when a report is no longer needed.',
    params,
    status: 200,
    reply: Type.Object({
      deleted: Type.Literal(true, { description: 'Always true' }),
      report_id: text('Id of the report'),
      deleted_at: time('When the report was deleted'),
    }),
    refuses: ['report_not_found'],
  }),
} as const
