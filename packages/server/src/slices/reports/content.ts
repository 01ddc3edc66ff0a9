// The content of a report: a function of tenant, framework, period and position of the log.

import {
  REPORT_FRAMEWORKS,
  type ReportFinding,
  type ReportFramework,
  type ReportSection,
  type ReportType,
} from '@custos/contract'
import type { JsonObject } from '@custos/proof'
import { type Article, isVerified } from './catalogue/article.ts'
import { CATALOGUE_VERSION, FRAMEWORKS, FULL_AUDIT } from './catalogue/catalogue.ts'
import { SOURCES } from './catalogue/sources.ts'
import { clientFields } from './client-fields.ts'
import type { EvidenceName } from './evidence-kinds.ts'
import { asJson, type Found, findAll } from './found.ts'
import type { Walked } from './walk-log.ts'

export interface Subject {
  readonly tenant_id: string
  readonly report_type: ReportType
  readonly period_start: string
  readonly period_end: string
}

export interface Made {
  readonly content: JsonObject
  readonly sections: ReportSection[]
  readonly overall_finding: ReportFinding
}

/** What no report of this service can say. */
const LIMITS = [
  'A finding says whether evidence is on record. Whether a law is kept is for people to judge.',
  'Evidence is what the log of the tenant names up to log_seq, within the period by its times.',
  'Reads, but for exports to data subjects, and evaluations that allowed leave no entry.',
  'What the organisation does outside this service is not seen: see not_covered of each section.',
  'The catalogue is a reading of its sources on its date, not legal advice.',
]

export function makeContent(subject: Subject, walked: Walked): Made {
  const { report_type } = subject
  const found = findAll(walked)
  const all = report_type === 'full_audit'
  const names = all ? REPORT_FRAMEWORKS : [report_type]
  const parts = names.map((name) => partOf(name, subject, found, walked))
  const overall_finding = overall(parts.map((part) => part.overall_finding))
  const [single] = parts
  const body = all
    ? {
        frameworks: Object.fromEntries(parts.map((part) => [part.framework, part.shown])),
        framework_summary: Object.fromEntries(
          parts.map((part) => [part.framework, { finding: part.overall_finding }]),
        ),
      }
    : { ...single?.shown }
  return {
    content: {
      ...body,
      framework: report_type,
      name: all ? FULL_AUDIT.name : FRAMEWORKS[report_type].name,
      regulation: all ? FULL_AUDIT.regulation : FRAMEWORKS[report_type].regulation,
      tenant_id: subject.tenant_id,
      period: { start: subject.period_start, end: subject.period_end },
      log_seq: walked.log_seq,
      log: { ...walked.log, last_epoch: walked.log.last_epoch && { ...walked.log.last_epoch } },
      catalogue_version: CATALOGUE_VERSION,
      models: walked.decided.models.map((model) => ({ ...model })),
      models_total: walked.decided.models_total,
      models_of_newest: walked.decided.count,
      activity: [...walked.tally.days.values()].map((day) => ({ ...day })),
      limits: LIMITS,
      overall_finding,
    },
    sections: parts.flatMap(({ sections }) => sections),
    overall_finding,
  }
}

type FoundByName = Readonly<Record<EvidenceName, Found>>

function partOf(name: ReportFramework, subject: Subject, found: FoundByName, walked: Walked) {
  const { articles, regulation, note } = FRAMEWORKS[name]
  const judged = articles.map((article) => ({ article, finding: judge(article, found) }))
  const overall_finding = overall(judged.map(({ finding }) => finding))
  const sections: ReportSection[] = judged.map(({ article, finding }) => ({
    key: article.key,
    framework: name,
    article: article.article,
    title: article.title,
    status: finding,
    evidence: Object.fromEntries(article.evidence.map((query) => [query, found[query].count])),
  }))
  const shown: JsonObject = {
    framework: name,
    regulation,
    note,
    sections: Object.fromEntries(
      judged.map(({ article, finding }) => [
        article.key,
        {
          ...described(article, subject),
          compliance_evidence: clientFields(article.key, article.evidence, found, walked),
          evidence: article.evidence.map((query) => asJson(found[query])),
          missing: article.evidence.filter((query) => found[query].count === 0),
          finding,
          status: finding,
        },
      ]),
    ),
    overall_finding,
  }
  return { framework: name, shown, sections, overall_finding }
}

function described(article: Article, { period_start, period_end }: Subject): JsonObject {
  return {
    framework: article.framework,
    article: article.article,
    title: article.title,
    requirement: article.requirement,
    automation: article.automation,
    not_covered: article.not_covered,
    in_force_from: article.in_force_from,
    in_force_to: article.in_force_to,
    in_force: forceIn(article, period_start, period_end),
    source: { ...SOURCES[article.source] },
    sources: article.read.map((name) => ({ ...SOURCES[name] })),
    verified: isVerified(article),
  }
}

/** Days and times of RFC 3339 compare as texts. */
function forceIn({ in_force_from, in_force_to }: Article, start: string, end: string): string {
  if (in_force_from === null) return 'not_known'
  if (in_force_from >= end) return 'not_yet'
  if (in_force_to !== null && in_force_to <= start) return 'no_longer'
  return in_force_from <= start && (in_force_to === null || in_force_to >= end)
    ? 'throughout'
    : 'in_part'
}

/** All kinds of evidence, some, or none of them. */
export function judge({ automation, evidence }: Article, found: FoundByName): ReportFinding {
  if (automation === 'manual') return 'NOT_AUTOMATABLE'
  const there = evidence.filter((query) => found[query].count > 0).length
  if (there === 0) return 'INSUFFICIENT_DATA'
  return there === evidence.length ? 'EVIDENCE_FOUND' : 'PARTIAL'
}

/** What is not automatable has no part in it, unless there is nothing else. */
export function overall(findings: readonly ReportFinding[]): ReportFinding {
  const judged = findings.filter((finding) => finding !== 'NOT_AUTOMATABLE')
  if (judged.length === 0) return 'NOT_AUTOMATABLE'
  if (judged.every((finding) => finding === 'EVIDENCE_FOUND')) return 'EVIDENCE_FOUND'
  return judged.includes('INSUFFICIENT_DATA') ? 'INSUFFICIENT_DATA' : 'PARTIAL'
}
