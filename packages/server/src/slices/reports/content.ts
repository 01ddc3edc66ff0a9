// The content of a report, a function of tenant, framework, period and log position.

import {
  REPORT_FRAMEWORKS,
  REPORT_SAMPLES_MAX,
  type ReportFinding,
  type ReportFramework,
  type ReportSection,
  type ReportType,
} from '@custos/contract'
import type { Json, JsonObject } from '@custos/proof'
import { type Article, isVerified } from './catalogue/article.ts'
import { CATALOGUE_VERSION, FRAMEWORKS, FULL_AUDIT } from './catalogue/catalogue.ts'
import {
  EVIDENCE,
  type EvidenceKind,
  type EvidenceName,
  evidenceKind,
} from './catalogue/evidence-kinds.ts'
import { SOURCES } from './catalogue/sources.ts'
import type { EventCounts, Sample } from './tally.ts'
import type { LogWalk } from './walk-log.ts'

export interface Subject {
  readonly tenant_id: string
  readonly report_type: ReportType
  readonly period_start: string
  readonly period_end: string
}

export interface ReportContent {
  readonly content: JsonObject
  readonly sections: ReportSection[]
  readonly headline: string
  readonly overall_finding: ReportFinding
}

/** What no report of this service can state. */
const LIMITS = [
  'A finding says whether evidence is on record. Whether a law is kept is for people to judge.',
  'Evidence is what the log of the tenant names up to log_seq, within the period by its times.',
  'Reads, but for exports to data subjects, and evaluations that allowed leave no entry.',
  'Stores of self-tests are not counted, nor what was written and erased in them.',
  'What the organisation does outside this service is not seen: see not_covered of each section.',
  'The catalogue is a reading of its sources on its date, not legal advice.',
]

export function makeContent(subject: Subject, walked: LogWalk): ReportContent {
  const { report_type } = subject
  const found = findAll(walked)
  const all = report_type === 'full_audit'
  const names = all ? REPORT_FRAMEWORKS : [report_type]
  const parts = names.map((name) => partOf(name, subject, found, walked))
  const overall_finding = overall(parts.map((part) => part.overall_finding))
  const sections = parts.flatMap((part) => part.sections)
  const headline = headlineOf(sections)
  const [single] = parts
  const body = all
    ? {
        frameworks: Object.fromEntries(parts.map((part) => [part.framework, part.shown])),
        framework_summary: Object.fromEntries(
          parts.map(({ framework, overall_finding: finding, sections }) => [
            framework,
            { finding, headline: headlineOf(sections) },
          ]),
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
      headline,
      overall_finding,
    },
    sections,
    headline,
    overall_finding,
  }
}

type FoundByName = Readonly<Record<EvidenceName, EvidenceFinding>>

function partOf(name: ReportFramework, subject: Subject, found: FoundByName, walked: LogWalk) {
  const { articles, regulation, note } = FRAMEWORKS[name]
  const judged = articles.map((article) => ({ article, finding: judge(article, found) }))
  const overall_finding = overall(judged.map(({ finding }) => finding))
  const sections: ReportSection[] = judged.map(({ article, finding }) => ({
    key: article.key,
    framework: name,
    article: article.article,
    title: article.title,
    status: finding,
    evidence: article.evidence
      .filter((query) => found[query].count > 0)
      .map((query) => sentenceOf(found[query])),
    detail: detailOf(article, finding, found),
    figures: Object.fromEntries(article.evidence.map((query) => [query, found[query].count])),
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
    headline: headlineOf(sections),
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

/** Compares dates as texts, because RFC 3339 days and times sort alphabetically. */
function forceIn({ in_force_from, in_force_to }: Article, start: string, end: string): string {
  if (in_force_from === null) return 'not_known'
  if (in_force_from >= end) return 'not_yet'
  if (in_force_to !== null && in_force_to <= start) return 'no_longer'
  return in_force_from <= start && (in_force_to === null || in_force_to >= end)
    ? 'throughout'
    : 'in_part'
}

/** `6 of 11 articles have evidence on record; 5 have none` */
function headlineOf(sections: readonly Pick<ReportSection, 'status'>[]): string {
  const hasEvidence = (status: ReportFinding) => status === 'EVIDENCE_FOUND' || status === 'PARTIAL'
  const total = sections.length
  const found = sections.filter(({ status }) => hasEvidence(status)).length
  const have = (count: number) => (count === 1 ? 'has' : 'have')
  const without =
    total - found === 0 ? 'none is without' : `${total - found} ${have(total - found)} none`
  return `${found} of ${total} articles ${have(found)} evidence on record; ${without}`
}

function sentenceOf({ about, count, first_seq, last_seq }: EvidenceFinding): string {
  const positions = first_seq === null ? `up to ${last_seq}` : `${first_seq} to ${last_seq}`
  return `${capital(about)}: ${count} (log positions ${positions})`
}

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

function detailOf(
  { evidence, not_covered }: Article,
  finding: ReportFinding,
  found: FoundByName,
): string {
  const missing = evidence.filter((query) => found[query].count === 0)
  const words = missing.map((query) => found[query].about).join('; ')
  const part = `${evidence.length - missing.length} of ${evidence.length}`
  const results: Readonly<Record<ReportFinding, string>> = {
    EVIDENCE_FOUND: 'Evidence of every kind looked for is on record.',
    PARTIAL: `Evidence of ${part} kinds is on record. Missing: ${words}.`,
    INSUFFICIENT_DATA: `No evidence is on record. Missing: ${words}.`,
    NOT_AUTOMATABLE: 'No log can show it: people have to.',
  }
  return `${results[finding]} Not covered: ${not_covered}`
}

/** Judges by whether all kinds of evidence, some or none are found. */
function judge({ automation, evidence }: Article, found: FoundByName): ReportFinding {
  if (automation === 'manual') return 'NOT_AUTOMATABLE'
  const there = evidence.filter((query) => found[query].count > 0).length
  if (there === 0) return 'INSUFFICIENT_DATA'
  return there === evidence.length ? 'EVIDENCE_FOUND' : 'PARTIAL'
}

/** Ignores articles that are not automatable, unless there are no others. */
function overall(findings: readonly ReportFinding[]): ReportFinding {
  const judged = findings.filter((finding) => finding !== 'NOT_AUTOMATABLE')
  if (judged.length === 0) return 'NOT_AUTOMATABLE'
  if (judged.every((finding) => finding === 'EVIDENCE_FOUND')) return 'EVIDENCE_FOUND'
  return judged.includes('INSUFFICIENT_DATA') ? 'INSUFFICIENT_DATA' : 'PARTIAL'
}

type Read = (found: Readonly<Record<EvidenceName, EvidenceFinding>>, walked: LogWalk) => Json

const count =
  (name: EvidenceName): Read =>
  (found) =>
    found[name].count
const any =
  (name: EvidenceName): Read =>
  (found) =>
    found[name].count > 0

const models: Read = (_, { decided }) => decided.models.map(({ model_id }) => model_id)
const latency: Read = (_, { decided }) => decided.average_latency_ms
/** False for a period without entries, about which nothing can be said. */
const intact: Read = any('log_verified')
const erasedAt =
  (end: 'first_seq' | 'last_seq'): Read =>
  (found) =>
    found.erasures_certified[end]

/** Client fields by section. Fields that clients read but no log can show are left out. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, Read>>>> = {
  article_13_transparency: {
    decision_trail_active: any('decisions_logged'),
    total_decisions_logged: count('decisions_logged'),
    models_used: models,
    average_latency_ms: latency,
  },
  article_14_human_oversight: {
    governance_gateway_active: any('policies_in_force'),
    total_policies: count('policies_changed'),
    active_policies: count('policies_in_force'),
    hitl_policies: count('oversight_policies'),
    requests_denied: count('evaluations_denied'),
    requests_escalated_hitl: count('evaluations_escalated'),
  },
  article_15_accuracy: { cryptographic_provenance: intact, content_addressing: intact },
  article_17_erasure: {
    erasure_proof_active: any('erasures_certified'),
    certificates_issued: count('erasures_certified'),
    signed_certificates: count('erasures_certified'),
    decisions_scrubbed: count('decisions_redacted'),
    first_erasure_seq: erasedAt('first_seq'),
    last_erasure_seq: erasedAt('last_seq'),
    signature_algorithm: () => 'Ed25519',
    content_hash_algorithm: () => 'SHA-256',
  },
  article_30_records: {
    decision_trail_active: any('decisions_logged'),
    total_processing_records: count('processing_stores'),
    models_used: models,
  },
  article_25_by_design: {
    content_addressing: intact,
    cryptographic_signing: any('checkpoints_signed'),
    erasure_certificates: count('erasures_certified'),
  },
  article_6_ict_risk: {
    governance_gateway_active: any('policies_in_force'),
    active_policies: count('policies_in_force'),
    blocked_requests: count('evaluations_denied'),
  },
  article_9_protection: { content_integrity: intact, signature_verification: intact },
  article_11_audit_trail: {
    decision_trail_active: any('decisions_logged'),
    total_decisions_logged: count('decisions_logged'),
    erasure_audit_trail: any('erasures_certified'),
    all_records_immutable: intact,
  },
}

/** The flat members of a section: its client fields, and a count per kind of evidence. */
function clientFields(
  key: string,
  evidence: readonly EvidenceName[],
  found: Readonly<Record<EvidenceName, EvidenceFinding>>,
  walked: LogWalk,
): JsonObject {
  const counts = evidence.map((name): [string, Json] => [name, found[name].count])
  const named = Object.entries(FIELDS[key] ?? {}).map(([name, read]): [string, Json] => [
    name,
    read(found, walked),
  ])
  return Object.fromEntries([...named, ...counts])
}

type EvidenceFinding = {
  readonly query: EvidenceName
  readonly about: string
  readonly count: number
  readonly first_seq: number | null
  readonly last_seq: number | null
  /** The newest samples, in ascending order. */
  readonly samples: readonly { readonly seq: number; readonly id: string }[]
}

const NONE = { count: 0, first_seq: null, last_seq: null, samples: [] } as const
type Amount = Omit<EvidenceFinding, 'query' | 'about'>

/** Findings for every kind of evidence. Nothing counts as found on a log that does not verify. */
function findAll(walked: LogWalk): Record<EvidenceName, EvidenceFinding> {
  const holds = walked.log.status === 'intact'
  const names = Object.keys(EVIDENCE) as EvidenceName[]
  return Object.fromEntries(
    names.map((query) => {
      const kind = evidenceKind(query)
      return [query, { query, about: kind.about, ...(holds ? amountOf(kind, walked) : NONE) }]
    }),
  ) as Record<EvidenceName, EvidenceFinding>
}

function amountOf({ events, derived }: EvidenceKind, walked: LogWalk): Amount {
  const { tally, checkpoints } = walked
  if (events) {
    const seen = events.map((type) => tally.seen.get(type)).filter((one) => one !== undefined)
    return together(seen)
  }
  const enabled = [...tally.policies].filter(([, { enabled }]) => enabled)
  const asks = ([, { action, policy_type }]: (typeof enabled)[number]) =>
    action === 'escalate' || policy_type === 'hitl_required'
  switch (derived) {
    case 'policies':
      return standing(enabled.map(([id, { seq }]) => ({ id, seq })))
    case 'oversight':
      return standing(enabled.filter(asks).map(([id, { seq }]) => ({ id, seq })))
    case 'approvers':
      return standing(samplesOf(tally.approvers))
    case 'stores':
      return standing(samplesOf(tally.stores))
    case 'time_limits':
      return standing(samplesOf(tally.timeLimits))
    case 'checkpoint':
      return { ...NONE, ...checkpoints }
    default:
      return { ...NONE, ...tally.counted }
  }
}

const samplesOf = (seqs: ReadonlyMap<string, number>): Sample[] =>
  [...seqs].map(([id, seq]) => ({ id, seq }))

function together(seen: readonly EventCounts[]): Amount {
  if (seen.length === 0) return NONE
  return {
    count: seen.reduce((sum, { things }) => sum + things, 0),
    first_seq: Math.min(...seen.map(({ first_seq }) => first_seq)),
    last_seq: Math.max(...seen.map(({ last_seq }) => last_seq)),
    samples: newest(seen.flatMap(({ samples }) => samples)),
  }
}

function standing(items: readonly Sample[]): Amount {
  if (items.length === 0) return NONE
  const seqs = items.map(({ seq }) => seq)
  return {
    count: items.length,
    first_seq: Math.min(...seqs),
    last_seq: Math.max(...seqs),
    samples: newest(items),
  }
}

const newest = (samples: readonly Sample[]) =>
  samples
    .toSorted((a, b) => a.seq - b.seq)
    .slice(-REPORT_SAMPLES_MAX)
    .map(({ seq, id }) => ({ seq, id }))

const asJson = (found: EvidenceFinding): JsonObject => ({
  ...found,
  found: found.count > 0,
  samples: found.samples.map((sample) => ({ ...sample })),
})
