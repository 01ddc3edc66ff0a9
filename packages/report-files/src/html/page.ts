// A report as one page that needs nothing else: readable printed, narrow, and in black and white.

import { REPORT_SAMPLES_MAX, type Report, type ReportFinding } from '@custos/contract'
import { activityChart, type Chart, FILLS, findingsChart } from '../view/chart.ts'
import {
  type FrameworkView,
  inWords,
  type KindView,
  lastEntry,
  logInWords,
  positionsOf,
  type ReportView,
  type SectionView,
  type SourceView,
  shortName,
  viewOf,
} from '../view/report-view.ts'
import { chartSvg, PATTERNS, patchSvg } from './charts.ts'
import { escaped } from './escape.ts'
import { STYLE } from './style.ts'

export function htmlReport(report: Report): string {
  const view = viewOf(report)
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<link rel="icon" href="data:,">',
    `<title>${escaped(report.title)}</title><style>${STYLE}</style></head><body>`,
    PATTERNS,
    '<header><p>Evidence report</p>',
    `<h1 dir="auto">${escaped(report.title)}</h1>`,
    `<p>${escaped(view.content.regulation)}</p></header><main>`,
    facts(view),
    summary(view),
    overview(view),
    ...view.frameworks.map(frameworkHtml),
    recordsHtml(view),
    sourcesHtml(view),
    limitsHtml(view),
    '</main></body></html>\n',
  ].join('\n')
}

const finding = (name: ReportFinding): string =>
  `<span class="finding">${patchSvg(FILLS[name])} ${inWords(name)}</span>`

const code = (text: unknown): string => `<code>${escaped(text)}</code>`

interface Cell {
  readonly html: string
  readonly as?: 'number' | 'address'
}
type Row = readonly (string | Cell)[]

/** On a narrow screen each row is a block of its own, with the heads as labels. */
function table(heads: readonly string[], rows: readonly Row[]): string {
  const head = heads.map((name) => `<th scope="col">${name}</th>`).join('')
  const body = rows.map(
    (row) => `<tr>${row.map((cell, i) => cellHtml(cell, heads[i])).join('')}</tr>`,
  )
  const parts = `<thead><tr>${head}</tr></thead><tbody>${body.join('\n')}</tbody>`
  return `<table class="rows">${parts}</table>`
}

function cellHtml(cell: string | Cell, head = ''): string {
  const { html, as }: Cell = typeof cell === 'string' ? { html: cell } : cell
  return `<td data-head="${head}"${as === undefined ? '' : ` class="${as}"`}>${html}</td>`
}

const number = (value: string | number): Cell => ({ html: String(value), as: 'number' })

/** A chart keeps its letters readable: on a narrow screen it moves sideways, by keys as well. */
const figure = (chart: Chart, label: string): string =>
  `<figure role="region" tabindex="0" aria-label="${label}">${chartSvg(chart)}</figure>`

function facts({ report, content }: ReportView): string {
  const rows: (readonly [string, string])[] = [
    ['Finding overall', finding(report.overall_finding)],
    ['Period', `${escaped(report.period_start)} up to ${escaped(report.period_end)}`],
    ['Generated', escaped(report.generated_at)],
    ['Tenant', code(report.tenant_id)],
    ['Log', escaped(logInWords(content))],
    ['Log position', lastEntry(report)],
    ['Root hash of the log', code(content.log.root_hash ?? 'none: the log is empty')],
    ['Catalogue', `as of ${escaped(content.catalogue_version)}`],
    ['Report', code(report.report_id)],
    ['SHA-256 of the content', code(report.content_hash)],
    ['Content', `${report.file_size_bytes} bytes of canonical JSON (RFC 8785)`],
    ['Signature', `Ed25519 ${code(report.signature)}`],
    ['Key', code(report.key_id)],
    ['Public key', code(report.public_key)],
  ]
  const cells = rows.map(
    ([name, value]) => `<tr><th scope="row">${name}</th><td>${value}</td></tr>`,
  )
  return (
    `<table class="facts"><tbody>${cells.join('')}</tbody></table>` +
    '<p><strong>A finding says whether evidence is on record. Whether a law is kept is for ' +
    'people to judge.</strong></p><p>To check the report: this page is not signed, the JSON ' +
    'download is. <code>custos verify FILE</code> checks its signature and its SHA-256 without ' +
    'asking anybody; the entries it names are looked up on the log by their positions.</p>'
  )
}

function summary({ report, content, frameworks }: ReportView): string {
  const rows = frameworks.map((part) => [
    `<a href="#${escaped(part.framework)}">${escaped(shortName(part.framework))}</a>`,
    escaped(part.regulation),
    number(part.sections.length),
    finding(part.finding),
  ])
  const activity = activityChart(content.activity, report.period_start, report.period_end)
  return (
    '<h2>Summary</h2><h3>Articles by finding</h3>' +
    figure(findingsChart(frameworks), 'Articles by finding') +
    table(['Framework', 'Regulation', 'Articles', 'Finding'], rows) +
    '<h3>Activity in the period</h3>' +
    figure(activity, 'Activity in the period')
  )
}

function overview({ frameworks }: ReportView): string {
  const rows = frameworks.flatMap(({ framework, sections }) =>
    sections.map(({ article, title, finding: found, key }) => [
      escaped(shortName(framework)),
      escaped(article),
      `<a href="#${anchor(framework, key)}">${escaped(title)}</a>`,
      finding(found),
    ]),
  )
  return `<h2>Articles</h2>${table(['Framework', 'Article', 'Title', 'Finding'], rows)}`
}

const anchor = (framework: string, key: string): string => escaped(`${framework}.${key}`)

const frameworkHtml = ({ framework, regulation, note, sections }: FrameworkView): string =>
  `<h2 id="${escaped(framework)}">${escaped(regulation)}</h2>` +
  `<p class="small">${escaped(note)}</p>${sections.map(sectionHtml).join('\n')}`

function sectionHtml(section: SectionView): string {
  const { framework, key, article, title, force, requirement, kinds, missed } = section
  return (
    `<section><h3 id="${anchor(framework, key)}">${escaped(article)} · ${escaped(title)}</h3>` +
    `<p>${finding(section.finding)} <span class="small">${escaped(force)}.</span></p>` +
    `<p>${escaped(requirement)}</p>` +
    (kinds.length === 0 ? '' : evidenceHtml(kinds)) +
    (missed.length === 0
      ? ''
      : `<p class="small"><b>Missing:</b> ${escaped(missed.join('; '))}.</p>`) +
    `<p class="small"><b>Not covered:</b> ${escaped(section.not_covered)}</p>` +
    `<p class="small"><b>Sources:</b> ${sourcesOf(section)}</p></section>`
  )
}

function evidenceHtml(kinds: readonly KindView[]): string {
  const rows = kinds.map((kind) => {
    const newest = kind.samples.at(-1)
    const below = newest
      ? `<br><span class="small">newest: ${code(newest.id)}, position ${newest.seq}</span>`
      : ''
    return [
      `<span>${escaped(kind.about)}${below}</span>`,
      number(kind.count),
      number(positionsOf(kind)),
      newest ? `<a href="#${kind.label}">list ${kind.label}</a>` : '–',
    ]
  })
  return table(['Evidence in the period', 'Count', 'Log positions', 'Records'], rows)
}

const linkTo = ({ label, name }: SourceView): string =>
  `<a href="#${label}" title="${escaped(name)}">${label}</a>`

function sourcesOf({ text, read, verified }: SectionView): string {
  const agree = verified ? 'verified: they agree' : 'unverified: fewer than two sources'
  const names = read.map(linkTo).join(', ') || 'none'
  return `text ${linkTo(text)}; read for title and date ${names} (${agree}).`
}

function recordsHtml({ kinds }: ReportView): string {
  const named = kinds.filter(({ samples }) => samples.length > 0)
  const parts = named.map(({ label, about, count, samples, ...kind }) => {
    const items = samples.map(({ seq, id }) => `<li><span>${seq}</span> ${code(id)}</li>`)
    const positions = positionsOf({ ...kind, about, count, samples })
    return (
      `<section><h3 id="${label}">${label} · ${escaped(about)}</h3>` +
      `<p class="small">${count} in the period, log positions ${positions}.</p>` +
      `<ul class="records">${items.join('')}</ul></section>`
    )
  })
  return (
    '<h2>Records</h2><p class="small">Of each kind of evidence the newest ' +
    `${REPORT_SAMPLES_MAX} in the period, by position on the log. Kinds that are found by ` +
    'computing, and those that were not found, name no records.</p>' +
    (parts.join('\n') || '<p>No records: nothing was found in the period.</p>')
  )
}

function sourcesHtml({ sources }: ReportView): string {
  const rows = sources.map(({ label, name, url }): Row => {
    const html = `<a href="${escaped(url)}" rel="noreferrer">${escaped(url)}</a>`
    return [`<span id="${label}">${label}</span>`, escaped(name), { html, as: 'address' }]
  })
  return `<h2>Sources</h2>${table(['No.', 'Source', 'Address'], rows)}`
}

const limitsHtml = ({ content }: ReportView): string =>
  '<h2>What this report does not say</h2>' +
  `<ul>${content.limits.map((text) => `<li>${escaped(text)}</li>`).join('')}</ul>`
