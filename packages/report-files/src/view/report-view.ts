// The view of a report that all file formats share: its parts, and numbered records and sources.

import assert from 'node:assert/strict'
import type { Report, ReportFinding } from '@custos/contract'
import { Compile } from 'typebox/compile'
import { type Content, content, type Evidence, type Section } from './content-shape.ts'

/** One kind of evidence, with the records that articles refer to. */
export interface KindView extends Evidence {
  /** The position in the list of records, such as `E1`. */
  readonly label: string
}

export interface SourceView {
  /** The position in the list of sources, such as `S1`. */
  readonly label: string
  readonly name: string
  readonly url: string
}

export interface SectionView extends Section {
  readonly key: string
  /** Whether the article was in force in the period, as a sentence without a full stop. */
  readonly force: string
  readonly kinds: readonly KindView[]
  /** Texts that describe what was not found. */
  readonly missed: readonly string[]
  readonly text: SourceView
  readonly read: readonly SourceView[]
}

export interface FrameworkView {
  readonly framework: string
  readonly regulation: string
  readonly note: string
  readonly finding: ReportFinding
  /** How many articles have evidence; in a report of version 1, the finding in words. */
  readonly headline: string
  readonly sections: readonly SectionView[]
}

export interface ReportView {
  readonly report: Report
  readonly content: Content
  readonly frameworks: readonly FrameworkView[]
  readonly kinds: readonly KindView[]
  readonly sources: readonly SourceView[]
}

const shape = Compile(content)

export function viewOf(report: Report): ReportView {
  const shown: unknown = report.content
  // makeContent wrote this content, and it was signed then, so a mismatch is a bug.
  assert(shape.Check(shown), 'a report has another content than reports have')
  const parts = 'frameworks' in shown ? Object.values(shown.frameworks) : [shown]
  const kinds = new Numbered<Evidence>('E', ({ query }) => query)
  const sources = new Numbered<{ name: string; url: string }>('S', ({ url }) => url)
  const frameworks = parts.map(({ framework, regulation, note, sections, ...part }) => ({
    framework,
    regulation,
    note,
    finding: part.overall_finding,
    headline: part.headline ?? textOf(part.overall_finding),
    sections: Object.entries(sections).map(
      ([key, section]): SectionView => ({
        ...section,
        key,
        force: forceOf(section),
        kinds: section.evidence.map((one) => kinds.take(one)),
        missed: section.evidence.filter(({ count }) => count === 0).map(({ about }) => about),
        text: sources.take(section.source),
        read: section.sources.map((one) => sources.take(one)),
      }),
    ),
  }))
  return { report, content: shown, frameworks, kinds: kinds.all, sources: sources.all }
}

/** Items that several places refer to, numbered in the order of their first use. */
class Numbered<T> {
  readonly #prefix: string
  readonly #nameOf: (item: T) => string
  readonly #items = new Map<string, T & { label: string }>()

  constructor(prefix: string, nameOf: (item: T) => string) {
    this.#prefix = prefix
    this.#nameOf = nameOf
  }

  get all(): (T & { label: string })[] {
    return [...this.#items.values()]
  }

  take(item: T): T & { label: string } {
    const name = this.#nameOf(item)
    const known = this.#items.get(name)
    if (known) return known
    const numbered = { ...item, label: `${this.#prefix}${this.#items.size + 1}` }
    this.#items.set(name, numbered)
    return numbered
  }
}

const FORCE: Readonly<Record<string, string>> = {
  throughout: 'in force throughout the period',
  in_part: 'in force in part of the period',
  not_yet: 'not yet in force in the period',
  no_longer: 'no longer in force in the period',
  not_known: 'no date from which it binds, or none known',
}

function forceOf({ in_force, in_force_from, in_force_to }: Section): string {
  const from = in_force_from === null ? '' : `, from ${in_force_from}`
  const to = in_force_to === null ? '' : `, up to ${in_force_to}`
  return `${FORCE[in_force] ?? in_force}${from}${to}`
}

/** Formats a time in UTC as `2026-11-02 08:00:00 UTC`. */
const secondsOf = (time: string): string =>
  `${time.slice(0, DAY_CHARS)} ${time.slice(DAY_CHARS + 1, SECOND_CHARS)} UTC`

const DAY_CHARS = 'YYYY-MM-DD'.length
const SECOND_CHARS = 'YYYY-MM-DDTHH:MM:SS'.length

/** The rows of the first page about the period and the tenant, as name and value. */
export function subjectRows({ report }: ReportView): (readonly [string, string])[] {
  const { headline, tenant_name, tenant_id, period_start, period_end, generated_at } = report
  return [
    ...(headline === undefined ? [] : [['Result', headline] as const]),
    ['Tenant', tenant_name === undefined ? tenant_id : `${tenant_name} (${tenant_id})`],
    ['Period', `${secondsOf(period_start)} up to ${secondsOf(period_end)}`],
    ['Generated', secondsOf(generated_at)],
  ]
}

/** The text of a finding, such as `EVIDENCE FOUND`. */
export const textOf = (finding: ReportFinding): string => finding.replaceAll('_', ' ')

/** The log positions of a kind of evidence, such as `3 – 17`. */
export function positionsOf({ first_seq, last_seq }: Evidence): string {
  if (last_seq === null) return '–'
  return first_seq === null || first_seq === last_seq
    ? String(last_seq)
    : `${first_seq} – ${last_seq}`
}

const SHORT: Readonly<Record<string, string>> = {
  eu_ai_act: 'EU AI Act',
  gdpr: 'GDPR',
  dora: 'DORA',
  nist_ai_rmf: 'NIST AI RMF',
  iso_42001: 'ISO/IEC 42001',
  colorado_ai: 'Colorado AI',
  hipaa: 'HIPAA',
}

export const shortName = (framework: string): string => SHORT[framework] ?? framework

/** The last log entry that the report covers. */
export const lastEntry = ({ log_seq }: Report): string =>
  log_seq < 0 ? 'none: the log is empty' : `${log_seq}, the last entry taken account of`

/** The state of the log in a sentence. */
export function logText({ log }: Content): string {
  const verified = `${log.status}: ${log.entries_verified} entries verified from the beginning`
  const where = log.at_seq === null ? '' : ` at position ${log.at_seq}`
  if (log.reason !== null) return `${verified}; ${log.reason}${where}. Nothing on it is evidence`
  const signed = log.last_epoch
    ? `checkpoint ${log.checkpoint}, over the first ${log.last_epoch.tree_size}`
    : 'no signed checkpoint'
  return `${verified}; ${signed}`
}

/** The sources of an article by their labels in the list of sources. */
export function sourcesText({ text, read, verified }: SectionView): string {
  const labels = read.map(({ label }) => label).join(', ')
  const agree = verified ? 'verified: they agree' : 'unverified: fewer than two sources'
  return `Sources: text ${text.label}; read for title and date ${labels || 'none'} (${agree}).`
}
