// A report as NIST OSCAL 1.1.3 assessment results.

import { createHash } from 'node:crypto'
import type { Report, ReportFinding } from '@custos/contract'
import type { Json, JsonObject } from '@custos/proof'
import {
  type FrameworkView,
  type KindView,
  type ReportView,
  type SectionView,
  viewOf,
} from '../view/report-view.ts'
import { NAMESPACE, Names, prop } from './names.ts'

const OSCAL_VERSION = '1.1.3'
/** A report never changes, so its file has only one version. */
const VERSION = '1.0'

/**
 * The OSCAL text of a report. It is deterministic, and indented for tools that compare files.
 * @param signed the text of the report's JSON download
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

/** The objectives that findings are about: only that evidence is on record. */
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

function resultOf(view: ReportView, part: FrameworkView, names: Names): JsonObject {
  const { report, content } = view
  const kinds = [...new Set(part.sections.flatMap((section) => section.kinds))]
  const examined = part.sections.filter(isExamined)
  const left = part.sections.filter((section) => !isExamined(section))
  const byIds = (sections: readonly SectionView[]): Json[] =>
    sections.map((section) => ({ 'control-id': names.control(section) }))
  return {
    uuid: names.uuid('result', part.framework),
    title: `Evidence on record for ${part.regulation}`,
    description: `${part.note} Findings are about evidence on record, not about a law kept.`,
    start: report.period_start,
    end: report.period_end,
    props: [
      prop('overall-finding', part.finding),
      prop('log-status', content.log.status),
      prop('log-entries-verified', content.log.entries_verified),
    ],
    'local-definitions': localDefinitions(names),
    'reviewed-controls': {
      description: 'The articles that a log can say something of; others are left to people.',
      'control-selections': [
        {
          ...some('include-controls', byIds(examined)),
          ...some('exclude-controls', byIds(left)),
        },
      ],
      ...some(
        'control-objective-selections',
        examined.length === 0
          ? []
          : [
              {
                'include-objectives': examined.map((s) => ({ 'objective-id': names.objective(s) })),
              },
            ],
      ),
    },
    observations: [
      ...kinds.map((kind) => observed(view, part, kind, names)),
      ...left.map((section) => leftToPeople(view, part, section, names)),
    ],
    ...some(
      'findings',
      examined.map((section) => findingOf(part, section, names)),
    ),
    remarks: content.limits.join(' '),
  }
}

/** A list as a member; absent if empty, because OSCAL does not allow empty lists. */
const some = (name: string, items: readonly Json[]): JsonObject =>
  items.length === 0 ? {} : { [name]: [...items] }

const isExamined = ({ finding }: SectionView): boolean => finding !== 'NOT_AUTOMATABLE'

const localDefinitions = (names: Names): JsonObject => ({
  components: [
    {
      uuid: names.uuid('log'),
      type: 'service',
      title: 'Log of the tenant',
      description: 'The append-only, signed log of what was done in the tenant.',
      status: { state: 'operational' },
    },
  ],
  'assessment-assets': {
    components: [
      {
        uuid: names.uuid('tool'),
        type: 'software',
        title: 'Custos',
        description: 'Reads the log from its beginning, verifies it and counts its entries.',
        status: { state: 'operational' },
      },
    ],
    'assessment-platforms': [
      {
        uuid: names.uuid('platform'),
        title: 'Custos',
        'uses-components': [{ 'component-uuid': names.uuid('tool') }],
      },
    ],
  },
})

/** Kinds of evidence that were recomputed and not read from stored rows. */
const TESTED: ReadonlySet<string> = new Set(['log_verified', 'checkpoints_signed'])

function observed(view: ReportView, part: FrameworkView, kind: KindView, names: Names): JsonObject {
  const { query, about, count, first_seq, last_seq, samples } = kind
  return {
    uuid: names.uuid('observation', part.framework, query),
    title: query,
    description: `${about}: ${count} in the period.`,
    props: [
      prop('count', count),
      ...(first_seq === null ? [] : [prop('first-position', first_seq)]),
      ...(last_seq === null ? [] : [prop('last-position', last_seq)]),
    ],
    methods: [TESTED.has(query) ? 'TEST' : 'EXAMINE'],
    types: ['control-objective'],
    origins: [{ actors: [{ type: 'tool', 'actor-uuid': names.uuid('tool') }] }],
    subjects: [{ 'subject-uuid': names.uuid('log'), type: 'component' }],
    ...some(
      'relevant-evidence',
      samples.map(({ seq, id }) => ({
        href: names.entry(seq),
        description: `Entry ${seq} of the log, about ${id}.`,
        props: [prop('log-position', seq), prop('record-id', id)],
      })),
    ),
    collected: view.report.generated_at,
    ...(count > samples.length && samples.length > 0
      ? { remarks: `The newest ${samples.length} are named.` }
      : {}),
  }
}

const leftToPeople = (
  { report }: ReportView,
  part: FrameworkView,
  section: SectionView,
  names: Names,
): JsonObject => ({
  uuid: names.uuid('left', part.framework, section.key),
  title: oneLine(`${section.article} ${section.title}`),
  description: `Nothing was examined: no entry of a log could show it. ${section.not_covered}`,
  props: [prop('finding', section.finding), prop('control-id', names.control(section))],
  methods: ['UNKNOWN'],
  types: ['discovery'],
  collected: report.generated_at,
})

function findingOf(part: FrameworkView, section: SectionView, names: Names): JsonObject {
  const { article, title, finding, requirement, not_covered, verified, force } = section
  return {
    uuid: names.uuid('finding', part.framework, section.key),
    title: oneLine(`${article} ${title}`),
    description: `${requirement} Not covered: ${not_covered}`,
    props: [
      prop('finding', finding),
      prop('sources-verified', verified),
      prop('in-force', section.in_force),
    ],
    links: [...new Set([section.text, ...section.read])].map(({ url }) => ({
      href: `#${names.uuid('source', url)}`,
      rel: 'reference',
    })),
    target: {
      type: 'objective-id',
      'target-id': names.objective(section),
      status: statusOf(finding, section),
      remarks: `The article was ${force}.`,
    },
    ...some(
      'related-observations',
      section.kinds.map(({ query }) => ({
        'observation-uuid': names.uuid('observation', part.framework, query),
      })),
    ),
  }
}

const NO_VERDICT = 'It says nothing of whether the law is kept.'

/** The OSCAL status, one of two states. It is only about whether evidence is on record. */
function statusOf(finding: ReportFinding, { missed }: SectionView): JsonObject {
  if (finding === 'EVIDENCE_FOUND')
    return {
      state: 'satisfied',
      reason: 'pass',
      remarks: `Evidence of every kind that was looked for is on record. ${NO_VERDICT}`,
    }
  const found = finding === 'PARTIAL' ? 'Some evidence is on record' : 'No evidence is on record'
  return {
    state: 'not-satisfied',
    reason: 'other',
    remarks: `${found}. Not found: ${missed.join('; ')}. ${NO_VERDICT}`,
  }
}

/** Joins lines, because titles in OSCAL have no line breaks. */
const oneLine = (text: string): string => text.replaceAll(/\s+/gu, ' ').trim() || '–'
