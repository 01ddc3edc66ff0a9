// A report as one page that needs nothing else: readable printed, and in black and white.

import type { Report, ReportFinding } from '@custos/contract'
import { isObject } from '@custos/proof'
import { activityChart, type DayCounts, findingsChart } from './charts.ts'
import { escaped } from './escape.ts'

type Bare = Readonly<Record<string, unknown>>

const STYLE = `
:root { color-scheme: light }
body { font: 15px/1.5 system-ui, sans-serif; color: #111; background: #fff; margin: 2rem auto;
  max-width: 56rem; padding: 0 1rem }
h1 { font-size: 1.6rem; line-height: 1.25 } h2 { margin-top: 2.2rem; border-bottom: 2px solid #111 }
h3 { margin: 1.6rem 0 .3rem } p { margin: .35rem 0 }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; font-size: .92rem }
th, td { border: 1px solid #666; padding: .25rem .5rem; text-align: left; vertical-align: top }
th { background: #eee } td.number { text-align: right; font-variant-numeric: tabular-nums }
code { font-size: .85em; overflow-wrap: anywhere }
.finding { display: inline-block; border: 2px solid #111; padding: 0 .45rem; font-weight: 600;
  font-size: .85rem }
.finding.EVIDENCE_FOUND { background: #111; color: #fff }
.finding.INSUFFICIENT_DATA { border-style: dotted } .finding.NOT_AUTOMATABLE { border-width: 1px }
.small { font-size: .88rem; color: #333 } svg text { font: 13px system-ui, sans-serif }
section { break-inside: avoid } details { margin: .3rem 0 }
`

export function htmlReport(report: Report): string {
  const { title, content } = report
  const parts = isObject(content['frameworks'])
    ? Object.values(content['frameworks']).filter(isObject)
    : [content]
  const findings = report.sections.map(({ status }) => status)
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escaped(title)}</title><style>${STYLE}</style></head><body>`,
    `<h1>${escaped(title)}</h1>`,
    facts(report),
    '<h2>In short</h2>',
    findingsChart(findings),
    '<p class="small">Articles by finding. A finding says whether evidence is on record; whether ',
    'a law is kept is for people to judge.</p>',
    activityChart(daysOf(content), report.period_start, report.period_end),
    '<p class="small">Entries of the log over the period (hatched), decisions among them ',
    '(black).</p>',
    overview(report),
    ...parts.map(partHtml),
    closing(report),
    '</body></html>\n',
  ].join('\n')
}

const finding = (name: unknown): string =>
  `<span class="finding ${escaped(name)}">${escaped(String(name).replaceAll('_', ' '))}</span>`

const row = (name: string, value: string): string => `<tr><th>${name}</th><td>${value}</td></tr>`

function facts({ content, ...report }: Report): string {
  const log = isObject(content['log']) ? content['log'] : {}
  return `<table>${[
    row('Framework', escaped(content['regulation'])),
    row('Finding overall', finding(report.overall_finding)),
    row('Period', `${escaped(report.period_start)} up to ${escaped(report.period_end)}`),
    row('Tenant', `<code>${escaped(report.tenant_id)}</code>`),
    row(
      'Log',
      `${escaped(log['status'])}: ${escaped(log['entries_verified'])} entries verified, up to ` +
        `position ${escaped(report.log_seq)}; checkpoint ${escaped(log['checkpoint'])}`,
    ),
    row('Generated', escaped(report.generated_at)),
  ].join('')}</table>`
}

function daysOf({ activity }: Bare): DayCounts[] {
  if (!Array.isArray(activity)) return []
  return activity.filter(isObject).map((day) => ({
    day: String(day['day']),
    entries: Number(day['entries']),
    decisions: Number(day['decisions']),
  }))
}

function overview({ sections }: Report): string {
  const rows = sections.map(
    ({ framework, article, title, status }) =>
      `<tr><td>${escaped(framework)}</td><td>${escaped(article)}</td><td>${escaped(title)}</td>` +
      `<td>${finding(status satisfies ReportFinding)}</td></tr>`,
  )
  return (
    '<h2>Articles</h2><table><tr><th>Framework</th><th>Article</th><th>Title</th>' +
    `<th>Finding</th></tr>${rows.join('')}</table>`
  )
}

function partHtml(part: Bare): string {
  const sections = isObject(part['sections']) ? Object.values(part['sections']) : []
  const note = part['note'] === undefined ? '' : `<p class="small">${escaped(part['note'])}</p>`
  return (
    `<h2>${escaped(part['regulation'])}</h2>${note}` +
    sections.filter(isObject).map(sectionHtml).join('\n')
  )
}

const FORCE: Readonly<Record<string, string>> = {
  throughout: 'in force throughout the period',
  in_part: 'in force in part of the period',
  not_yet: 'not yet in force in the period',
  no_longer: 'no longer in force in the period',
  not_known: 'no date from which it binds, or none known',
}

function sectionHtml(section: Bare): string {
  const evidence = Array.isArray(section['evidence']) ? section['evidence'].filter(isObject) : []
  const from = section['in_force_from'] === null ? '' : ` from ${escaped(section['in_force_from'])}`
  const force = `${FORCE[String(section['in_force'])] ?? ''}${from && `;${from}`}`
  const doubt =
    section['verified'] === true ? '' : ' Title or date found in fewer than two sources.'
  return (
    `<section><h3>${escaped(section['article'])} · ${escaped(section['title'])}</h3>` +
    `<p>${finding(section['finding'])} <span class="small">${force}.${doubt}</span></p>` +
    `<p>${escaped(section['requirement'])}</p>` +
    (evidence.length === 0 ? '' : evidenceHtml(evidence)) +
    `<p class="small"><b>Not covered:</b> ${escaped(section['not_covered'])}</p></section>`
  )
}

function evidenceHtml(evidence: readonly Bare[]): string {
  const rows = evidence.map((one) => {
    const at =
      one['last_seq'] === null
        ? '–'
        : [one['first_seq'], one['last_seq']]
            .filter((seq) => seq !== null)
            .map(escaped)
            .join(' – ')
    return (
      `<tr><td>${escaped(one['about'])}${samplesHtml(one['samples'])}</td>` +
      `<td class="number">${escaped(one['count'])}</td><td class="number">${at}</td></tr>`
    )
  })
  return (
    '<table><tr><th>Evidence in the period</th><th>Count</th><th>Log positions</th></tr>' +
    `${rows.join('')}</table>`
  )
}

function samplesHtml(samples: unknown): string {
  if (!Array.isArray(samples) || samples.length === 0) return ''
  const ids = samples
    .filter(isObject)
    .map(({ seq, id }) => `${escaped(seq)}&nbsp;<code>${escaped(id)}</code>`)
  return (
    `<details><summary class="small">the newest ${ids.length}</summary>` +
    `<p class="small">${ids.join('<br>')}</p></details>`
  )
}

function closing(report: Report): string {
  const { limits } = report.content
  const items = Array.isArray(limits) ? limits.map((text) => `<li>${escaped(text)}</li>`) : []
  return (
    `<h2>What this report does not say</h2><ul>${items.join('')}</ul>` +
    `<h2>Integrity</h2><table>${[
      row('Report', `<code>${escaped(report.report_id)}</code>`),
      row('SHA-256 of the content', `<code>${escaped(report.content_hash)}</code>`),
      row('Content', `${escaped(report.file_size_bytes)} bytes of canonical JSON (RFC 8785)`),
      row('Signature', `Ed25519 <code>${escaped(report.signature)}</code>`),
      row('Key', `<code>${escaped(report.key_id)}</code>`),
    ].join('')}</table>` +
    '<p class="small">This page is not signed: the JSON download is, and ' +
    '<code>custos verify FILE</code> checks it without asking anybody.</p>'
  )
}
