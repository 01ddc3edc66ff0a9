// A report as assessment results of NIST OSCAL 1.1.3, for tools that read those.

import { createHash } from 'node:crypto'
import type { Report } from '@custos/contract'
import type { JsonObject } from '@custos/proof'
import { type ReportView, type SectionView, viewOf } from '../view/report-view.ts'
import { NAMESPACE, Names, prop } from './names.ts'
import { oneLine, resultOf } from './results.ts'

const OSCAL_VERSION = '1.1.3'
/** A report never changes: its file has one version. */
const VERSION = '1.0'

/**
 * Indented, as tools that compare files like it; the same report gives the same text.
 * @param signed the report as its JSON download has it
 */
export function oscalReport(report: Report, signed: string): string {
  const view = viewOf(report)
  const names = new Names(report.report_id)
  const results = {
    uuid: names.uuid('assessment-results'),
    metadata: metadataOf(view, names),
    'import-ap': {
      href: `#${names.uuid('catalogue')}`,
      remarks:
        'There was no assessment plan: the catalogue of the report says what was looked for.',
    },
    'local-definitions': { 'objectives-and-methods': objectivesOf(view, names) },
    results: view.frameworks.map((part) => resultOf(view, part, names)),
    'back-matter': { resources: resourcesOf(view, names, signed) },
  }
  return `${JSON.stringify({ 'assessment-results': results }, null, 2)}\n`
}

function metadataOf({ report, content }: ReportView, names: Names): JsonObject {
  return {
    title: oneLine(report.title),
    'last-modified': report.generated_at,
    version: VERSION,
    'oscal-version': OSCAL_VERSION,
    'document-ids': [{ scheme: NAMESPACE, identifier: report.report_id }],
    props: [
      prop('report-type', report.report_type),
      prop('overall-finding', report.overall_finding),
      prop('catalogue-version', content.catalogue_version),
      prop('log-position', report.log_seq),
      prop('content-sha-256', report.content_hash),
      prop('signing-key', report.key_id),
    ],
    links: [{ href: `#${names.uuid('report')}`, rel: 'canonical' }],
    parties: [
      {
        uuid: names.uuid('tenant'),
        type: 'organization',
        name: oneLine(report.tenant_name ?? report.tenant_id),
        remarks: 'The tenant whose log was read.',
      },
    ],
    remarks:
      'This file is not signed: the report it was made from is. A state of satisfied says that ' +
      'the evidence looked for is on record; whether a law is kept is for people to judge.',
  }
}

/** What a finding is about: that evidence is on record, and nothing beyond it. */
function objectivesOf({ frameworks }: ReportView, names: Names): JsonObject[] {
  return frameworks
    .flatMap(({ sections }) => sections)
    .map((section) => ({
      'control-id': names.control(section),
      description: section.requirement,
      props: [prop('article', section.article), prop('automation', section.automation)],
      parts: [
        {
          id: names.objective(section),
          name: 'assessment-objective',
          title: oneLine(`${section.article} ${section.title}`),
          prose: objectiveOf(section),
        },
      ],
    }))
}

function objectiveOf({ kinds }: SectionView): string {
  if (kinds.length === 0) return 'For people to assess: no entry of a log could show it.'
  return `On record in the period: ${kinds.map(({ about }) => about).join('; ')}.`
}

function resourcesOf(view: ReportView, names: Names, signed: string): JsonObject[] {
  const { content, sources } = view
  const sha256 = createHash('sha256').update(signed).digest('hex')
  return [
    {
      uuid: names.uuid('catalogue'),
      title: 'Catalogue of the report',
      description:
        `Which evidence was looked for, by article, as of ${content.catalogue_version}: a ` +
        'reading of its sources, not legal advice. It stands in for an assessment plan.',
      rlinks: [{ href: '/v1/reports/frameworks', 'media-type': 'application/json' }],
    },
    {
      uuid: names.uuid('report'),
      title: 'The signed report',
      description: 'Checked offline with `custos verify FILE`.',
      rlinks: [
        {
          href: names.file,
          'media-type': 'application/json',
          hashes: [{ algorithm: 'SHA-256', value: sha256 }],
        },
      ],
    },
    ...sources.map(({ name, url }) => ({
      uuid: names.uuid('source', url),
      title: oneLine(name),
      rlinks: [{ href: url }],
    })),
  ]
}
