// The catalogue's row of an article: its dates, its sources, and its kinds of evidence.

import type { ReportAutomation, ReportFramework } from '@custos/contract'
import type { EvidenceName } from './evidence-kinds.ts'
import type { SourceName } from './sources.ts'

export interface Article {
  readonly framework: ReportFramework
  /** The name of the article's section in a report, which existing clients may read. */
  readonly key: string
  readonly article: string
  readonly title: string
  /** What the article asks for, in the words of this catalogue. */
  readonly requirement: string
  /** `2026-08-02`, or a month if the day is unknown. `null` if unknown, or never binding. */
  readonly in_force_from: string | null
  readonly in_force_to: string | null
  /** Where the official text is available. */
  readonly source: SourceName
  /** The sources that were read to confirm the title and the date. */
  readonly read: readonly SourceName[]
  readonly evidence: readonly EvidenceName[]
  readonly automation: ReportAutomation
  /** What no log entry can show. */
  readonly not_covered: string
}

export interface Framework {
  readonly framework: ReportFramework
  /** The name of the report. */
  readonly name: string
  readonly regulation: string
  readonly note: string
  readonly articles: readonly Article[]
}

/** The members of an article that differ between the rows of a framework. */
type Row = Pick<Article, 'key' | 'article' | 'title' | 'requirement' | 'not_covered'> &
  Partial<Article>

/** Fills in what the articles of a framework share. */
export const rowsOf = (
  shared: Pick<Article, 'framework' | 'in_force_from' | 'source' | 'read'>,
  rows: readonly Row[],
): Article[] =>
  rows.map((row) => ({
    in_force_to: null,
    evidence: [],
    // An article without evidence on the log must be shown by people.
    automation: row.evidence === undefined ? 'manual' : 'partial',
    ...shared,
    ...row,
  }))

/** Whether two sources were read and agree, because a single one may be wrong. */
export const isVerified = ({ read }: Article): boolean => read.length >= 2
