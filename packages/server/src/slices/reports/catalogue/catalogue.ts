// The catalogue as a whole: our own reading of each framework, dated, with its sources.

import type { ReportFramework } from '@custos/contract'
import { type Framework, isVerified } from './article.ts'
import { dora, euAiAct, gdpr } from './european-union.ts'
import { iso42001 } from './iso-42001.ts'
import { SOURCES } from './sources.ts'
import { coloradoAi, hipaa, nistAiRmf } from './united-states.ts'

/** The day on which the sources were read; a change of any row needs a new one, or a number. */
export const CATALOGUE_VERSION = '2026-11-22.1'

export const FRAMEWORKS: Readonly<Record<ReportFramework, Framework>> = {
  eu_ai_act: euAiAct,
  gdpr,
  dora,
  nist_ai_rmf: nistAiRmf,
  iso_42001: iso42001,
  colorado_ai: coloradoAi,
  hipaa,
}

export const FULL_AUDIT = {
  name: 'Full Regulatory Evidence Package',
  regulation: 'All frameworks of the catalogue',
} as const

/** A framework's rows as they are shown. */
export const catalogueRows = ({ articles }: Framework) =>
  articles.map((article) => ({
    key: article.key,
    framework: article.framework,
    article: article.article,
    title: article.title,
    in_force_from: article.in_force_from,
    in_force_to: article.in_force_to,
    source: { ...SOURCES[article.source] },
    sources: article.read.map((name) => ({ ...SOURCES[name] })),
    verified: isVerified(article),
    evidence: [...article.evidence],
    automation: article.automation,
    not_covered: article.not_covered,
  }))
