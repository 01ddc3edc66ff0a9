// The whole catalogue: this service's own reading of each framework, dated, with its sources.

import type { ReportFramework } from '@custos/contract'
import { type Framework, isVerified, rowsOf } from './article.ts'
import { dora, euAiAct, gdpr } from './european-union.ts'
import { SOURCES } from './sources.ts'
import { coloradoAi, hipaa, nistAiRmf } from './united-states.ts'

/** ISO/IEC 42001, controls of Annex A: a standard that organisations choose to follow. */
const iso42001: Framework = {
  framework: 'iso_42001',
  name: 'ISO/IEC 42001 Evidence Report',
  regulation: 'ISO/IEC 42001:2023, Annex A',
  note:
    'Published in December 2023; the day was not confirmed. Which controls apply stands in the ' +
    'statement of applicability of the organisation.',
  articles: rowsOf(
    {
      framework: 'iso_42001',
      in_force_from: '2023-12',
      source: 'iso_42001',
      read: ['iso_grecta'],
    },
    [
      {
        key: 'a_2_2_ai_policy',
        article: 'A.2.2',
        title: 'AI policy',
        requirement: 'A policy for AI systems is documented.',
        not_covered: 'All of it: the policy is a document of the organisation.',
      },
      {
        key: 'a_5_2_impact_assessment',
        article: 'A.5.2',
        title: 'AI system impact assessment process',
        requirement: 'Consequences for persons and societies are assessed.',
        read: [],
        not_covered: 'All of it: an assessment is made by people.',
      },
      {
        key: 'a_6_2_6_operation_and_monitoring',
        article: 'A.6.2.6',
        title: 'AI system operation and monitoring',
        requirement: 'Operation is monitored, repaired, updated and supported.',
        evidence: ['decisions_logged', 'evaluations_denied', 'outcomes_recorded', 'assurance_runs'],
        read: ['iso_online'],
        not_covered: 'Repair, updates and support.',
      },
      {
        key: 'a_6_2_8_event_logs',
        article: 'A.6.2.8',
        title: 'AI system recording of event logs',
        requirement: 'Events are logged, at least while the system is in use.',
        evidence: ['decisions_logged', 'log_verified'],
        automation: 'full',
        read: ['iso_controlstack', 'iso_kimova'],
        not_covered: 'Events of systems that do not send their decisions here.',
      },
      {
        key: 'a_7_5_data_provenance',
        article: 'A.7.5',
        title: 'Data provenance',
        requirement: 'The provenance of data is recorded over its life and that of the system.',
        evidence: ['corpora_sealed', 'memories_written'],
        read: ['iso_controlstack'],
        not_covered: 'Data that was not registered here.',
      },
      {
        key: 'a_9_2_responsible_use',
        article: 'A.9.2',
        title: 'Processes for responsible use of AI systems',
        requirement: 'Processes for the responsible use of AI systems are defined.',
        evidence: ['policies_in_force', 'approvals_decided'],
        read: [],
        not_covered: 'Processes that are documents.',
      },
    ],
  ),
}

/** The day on which the sources were read. Any change of a row needs a new day or number. */
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

/** The rows of a framework in the form they are shown. */
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
