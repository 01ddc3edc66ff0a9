// custos report: evidence reports of a running service.

import {
  REPORT_FORMATS,
  REPORT_TYPES,
  type ReplyOf,
  type Report,
  type ReportJobReply,
  type reports,
} from '@custos/contract'
import { type Command, UsageError } from '../../command.ts'
import { saveDownload } from '../../download.ts'
import { formatBytes, formatTable } from '../../output.ts'
import { CLIENT_HELP, type ServiceClient } from '../../service-client.ts'
import { defineVerb, runVerb, waitForJob } from '../../verbs.ts'

export const report: Command = {
  usage: 'generate | list | download REPORT_ID [options]',
  help: `  generate  generate and sign a report; shows the progress. Needs a key that is not
            limited to stores
  list      list the reports, newest first
  download  write one report to a file

  --framework NAME    ${REPORT_TYPES.slice(0, 4).join(', ')},
                      ${REPORT_TYPES.slice(4, -1).join(', ')} or ${REPORT_TYPES.at(-1)} (default)
  --days N            length of the period up to now (default: 30)
  --from TIME         start of the period
  --to TIME           end of the period, not included
  --title TEXT        title of the report
  --format FORMAT     ${REPORT_FORMATS.join(', ')} (default: json, which is signed)
  -o, --output FILE   where to write the report (download default: standard output)
${CLIENT_HELP}`,
  run: (args) => runVerb(args, { generate, list, download }),
}

const FILE_OPTIONS = {
  format: { type: 'string' },
  output: { type: 'string', short: 'o' },
} as const

const GENERATE_OPTIONS = {
  ...FILE_OPTIONS,
  framework: { type: 'string' },
  days: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  title: { type: 'string' },
} as const

const generate = defineVerb(GENERATE_OPTIONS, [], async (client, { values }) => {
  const { framework, days, from, to, title, format, output } = values
  if (days !== undefined && !/^\d+$/.test(days))
    throw new UsageError('--days takes a number of days')
  if (format !== undefined && output === undefined) throw new UsageError('--format needs -o FILE')
  const period_days = days === undefined ? undefined : Number(days)
  const { report_id, job_id } = await client.json<ReportJobReply>('/v1/reports/generate', {
    method: 'POST',
    json: { framework, period_days, from, to, title, background: true },
  })
  await waitForJob(client, 'report', job_id)
  const made = await client.json<Report>(`/v1/reports/${report_id}`)
  console.log(`report ${report_id} (${made.title}): ${made.overall_finding}`)
  console.log(`from ${made.period_start} to ${made.period_end}`)
  if (output !== undefined) await save(client, { report_id, format, output })
})

const list = defineVerb({}, [], async (client) => {
  const rows: string[][] = []
  for (let cursor = ''; ; ) {
    const path = `/v1/reports?limit=200${cursor}`
    const page = await client.json<ReplyOf<typeof reports.list>>(path)
    for (const { report_id, report_type, generated_at, overall_finding, title } of page.reports)
      rows.push([report_id, report_type, generated_at, overall_finding, title ?? ''])
    if (page.next_cursor === null) break
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`
  }
  console.log(formatTable([['report', 'type', 'generated', 'finding', 'title'], ...rows]))
})

const download = defineVerb(FILE_OPTIONS, ['REPORT_ID'], (client, { values, positionals }) =>
  save(client, { ...values, report_id: positionals[0] ?? '' }),
)

async function save(
  client: ServiceClient,
  request: { report_id: string; format?: string | undefined; output?: string | undefined },
): Promise<void> {
  const { report_id, format = 'json', output } = request
  const query = `?format=${encodeURIComponent(format)}`
  const path = `/v1/reports/${encodeURIComponent(report_id)}/download${query}`
  const { bytes } = await saveDownload(await client.send(path), 'report', output)
  if (output !== undefined) console.log(`${output}: ${formatBytes(bytes)}`)
}
