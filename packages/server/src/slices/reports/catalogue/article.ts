// What the catalogue says of an article: since when, by which sources, and what speaks to it.

import type { ReportAutomation, ReportFramework } from '@custos/contract'
import type { EvidenceName } from './evidence-kinds.ts'
import type { SourceName } from './sources.ts'

export interface Article {
  readonly framework: ReportFramework
  /** Its name among the sections of a report; existing clients read some of them. */
  readonly key: string
  readonly article: string
  readonly title: string
  /** What it asks for, in our words. */
  readonly requirement: string
  /** `2026-08-02`, or a month where the day is not known; null: not known, or never binding. */
  readonly in_force_from: string | null
  readonly in_force_to: string | null
  /** Where the text itself is to be had. */
  readonly source: SourceName
  /** What was read for title and date when the catalogue was made. */
  readonly read: readonly SourceName[]
  readonly evidence: readonly EvidenceName[]
  readonly automation: ReportAutomation
  /** What no entry of a log can show. */
  readonly not_covered: string
}

export interface Framework {
  readonly framework: ReportFramework
  /** Of the report. */
  readonly name: string
  readonly regulation: string
  readonly note: string
  readonly articles: readonly Article[]
}

/** The members of an article that the rows of one framework do not share. */
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
    // What nothing on the log speaks to is for people to show.
    automation: row.evidence === undefined ? 'manual' : 'partial',
    ...shared,
    ...row,
  }))

/** One source may be wrong; two that agree were found to. */
export const isVerified = ({ read }: Article): boolean => read.length >= 2
