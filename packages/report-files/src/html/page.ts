// A report as one self-contained page, readable in print, on narrow screens and without colour.

import { REPORT_SAMPLES_MAX, type Report, type ReportFinding } from '@custos/contract'
import {
  activityChart,
  type Chart,
  FILLS,
  type Fill,
  findingsChart,
  LABEL_SIZE,
  type Shape,
} from '../view/chart.ts'
import {
  type FrameworkView,
  type KindView,
  lastEntry,
  logText,
  positionsOf,
  type ReportView,
  type SectionView,
  type SourceView,
  shortName,
  subjectRows,
  textOf,
  viewOf,
} from '../view/report-view.ts'

const ESCAPED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export const escaped = (text: unknown): string =>
  String(text).replaceAll(/[&<>"']/g, (character) => ESCAPED[character] ?? '')

export const STYLE = `
:root { color-scheme: light }
* { box-sizing: border-box } html { font-size: 15px }
body { font: 1rem/1.5 system-ui, sans-serif; color: #111; background: #fff; margin: 2rem auto;
  max-width: 58rem; padding: 0 1rem }
header p { margin: 0; font-size: 1.05rem } header p:first-child { font-weight: 600 }
h1 { font-size: 1.8rem; line-height: 1.25; margin: .2rem 0; overflow-wrap: anywhere }
h2 { margin: 2.4rem 0 .8rem; border-bottom: 2px solid #111; font-size: 1.35rem }
h3 { margin: 1.6rem 0 .3rem; font-size: 1.05rem } p { margin: .35rem 0 }
a { color: inherit } figure { margin: .5rem 0; overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-size: .92rem }
table { margin: .6rem 0 }
th, td { border: 1px solid #555; padding: .25rem .5rem; text-align: left; vertical-align: top }
th { background: #e9e9e9 } .facts th { width: 12.5rem } .facts td { overflow-wrap: anywhere }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
td.address { overflow-wrap: anywhere; min-width: 14rem }
code { font-size: .86em; overflow-wrap: anywhere }
.finding { font-weight: 600; white-space: nowrap; font-size: .92em }
.patterns { position: absolute } .patch { width: .85em; height: .85em; vertical-align: -.08em }
.chart { display: block; width: 100%; min-width: 32rem; font-family: system-ui, sans-serif }
.small { font-size: .88rem; color: #333 }
.records { list-style: none; padding: 0; margin: .3rem 0; columns: 24rem; font-size: .88rem }
.records li { break-inside: avoid } .records span { display: inline-block; min-width: 4.5rem;
  text-align: right; padding-right: .6rem; font-variant-numeric: tabular-nums }
@media screen and (max-width: 40rem) {
  body { margin: 1rem auto } .facts th { width: 8rem }
  .rows, .rows tbody, .rows tr { display: block } .rows thead { display: none }
  .rows tr { border: 1px solid #555; margin: .5rem 0; padding: .15rem .4rem }
  .rows td, .rows td.number { border: 0; display: flex; gap: .6rem; padding: .1rem 0;
    text-align: left; white-space: normal }
  .rows td::before { content: attr(data-head); flex: 0 0 6.5rem; color: #333; font-size: .88rem }
}
@media print {
  @page { margin: 18mm 15mm }
  html { font-size: 10.5px } body { max-width: none; margin: 0; padding: 0 }
  h2, h3, h2 + p { break-after: avoid } section, tr, figure { break-inside: avoid }
  figure { overflow: visible } .chart { min-width: 0 } a { text-decoration: none }
}
`

/** The colour of the text. */
const INK = '#111'

const FILLED: Readonly<Record<Fill, string>> = {
  solid: `fill="${INK}" stroke="${INK}"`,
  hatched: `fill="url(#hatched)" stroke="${INK}"`,
  dotted: `fill="url(#dotted)" stroke="${INK}"`,
  empty: `fill="#fff" stroke="${INK}"`,
  paper: 'fill="#fff"',
}

/** Fill patterns. A page has them once, before the elements that use them. */
const PATTERNS =
  '<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>' +
  '<pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse" ' +
  'patternTransform="rotate(45)"><rect width="6" height="6" fill="#fff"/>' +
  `<rect width="3" height="6" fill="${INK}"/></pattern>` +
  '<pattern id="dotted" width="6" height="6" patternUnits="userSpaceOnUse">' +
  `<rect width="6" height="6" fill="#fff"/><circle cx="3" cy="3" r="1.2" fill="${INK}"/>` +
  '</pattern></defs></svg>'

/** The swatch before a finding's name, with the fill of the charts. */
const patchSvg = (fill: Fill): string =>
  '<svg class="patch" viewBox="0 0 13 13" aria-hidden="true">' +
  `<rect x="0.5" y="0.5" width="12" height="12" ${FILLED[fill]}/></svg>`

const chartSvg = ({ title, width, height, shapes }: Chart): string =>
  `<svg class="chart" role="img" viewBox="0 0 ${width} ${height}" ` +
  `font-size="${LABEL_SIZE}" aria-label="${escaped(title)}">${shapes.map(shapeSvg).join('')}</svg>`

const ANCHORS = { left: 'start', middle: 'middle', right: 'end' } as const

function shapeSvg(shape: Shape): string {
  switch (shape.kind) {
    case 'box': {
      const [x, y, width, height] = [shape.x, shape.y, shape.width, shape.height].map(short)
      return `<rect x="${x}" y="${y}" width="${width}" height="${height}" ${FILLED[shape.fill]}/>`
    }
    case 'line': {
      const points = shape.points.map((point) => point.map(short).join(',')).join(' ')
      return `<polyline points="${points}" fill="none" stroke="${INK}"/>`
    }
    case 'label': {
      const { x, y, text, align, light } = shape
      return (
        `<text x="${short(x)}" y="${short(y)}" text-anchor="${ANCHORS[align]}"` +
        `${light ? ' fill="#fff"' : ''}>${escaped(text)}</text>`
      )
    }
  }
}

const short = (value: number): string => String(Math.round(value * 10) / 10)

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
  `<span class="finding">${patchSvg(FILLS[name])} ${textOf(name)}</span>`

const code = (text: unknown): string => `<code>${escaped(text)}</code>`

interface Cell {
  readonly html: string
  readonly as?: 'number' | 'address'
}

/** A table. On a narrow screen each row is a block, with the heads as labels. */
export function table(
  heads: readonly string[],
  rows: readonly (readonly (string | Cell)[])[],
): string {
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

/** A chart. On a narrow screen it scrolls sideways, by keyboard too, so that it stays readable. */
const figure = (chart: Chart, label: string): string =>
  `<figure role="region" tabindex="0" aria-label="${label}">${chartSvg(chart)}</figure>`

function facts(view: ReportView): string {
  const { report, content } = view
  const rows: (readonly [string, string])[] = [
    ...subjectRows(view).map(([name, value]) => [name, escaped(value)] as const),
    ['Finding overall', finding(report.overall_finding)],
    ['Log', escaped(logText(content))],
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
    escaped(part.headline),
    finding(part.finding),
  ])
  const activity = activityChart(content.activity, report.period_start, report.period_end)
  return (
    '<h2>Summary</h2><h3>Articles by finding</h3>' +
    figure(findingsChart(frameworks), 'Articles by finding') +
    table(['Framework', 'Regulation', 'Result', 'Finding'], rows) +
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

const frameworkHtml = ({
  framework,
  regulation,
  headline,
  note,
  sections,
}: FrameworkView): string =>
  `<h2 id="${escaped(framework)}">${escaped(regulation)}</h2>` +
  `<p><strong>${escaped(headline)}.</strong></p>` +
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
  const rows = sources.map(({ label, name, url }): readonly (string | Cell)[] => {
    const html = `<a href="${escaped(url)}" rel="noreferrer">${escaped(url)}</a>`
    return [`<span id="${label}">${label}</span>`, escaped(name), { html, as: 'address' }]
  })
  return `<h2>Sources</h2>${table(['No.', 'Source', 'Address'], rows)}`
}

const limitsHtml = ({ content }: ReportView): string =>
  '<h2>What this report does not say</h2>' +
  `<ul>${content.limits.map((text) => `<li>${escaped(text)}</li>`).join('')}</ul>`
