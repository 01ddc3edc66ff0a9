// custos report: evidence reports of a running service.

import type { Custos } from '@custos/client'
import { REPORT_FORMATS, REPORT_TYPES } from '@custos/contract'
import { CLIENT_HELP, setMembers, unchecked } from '../../client-calls.ts'
import { type Command, CommandError, UsageError } from '../../command.ts'
import { saveDownload } from '../../download.ts'
import { formatBytes, formatTable } from '../../output.ts'
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

const generate = defineVerb(GENERATE_OPTIONS, [], async (custos, { values }) => {
  const { framework, days, from, to, title, format, output } = values
  if (days !== undefined && !/^\d+$/.test(days))
    throw new UsageError('--days takes a number of days')
  if (format !== undefined && output === undefined) throw new UsageError('--format needs -o FILE')
  const period_days = days === undefined ? undefined : Number(days)
  const wanted = { ...setMembers({ framework, period_days, from, to, title }), background: true }
  const begun = await custos.reports.generate(unchecked(wanted))
  const { report_id } = begun
  if (!('job_id' in begun)) throw new CommandError('the service started no job')
  await waitForJob(custos, 'report', begun.job_id)
  const made = await custos.reports.get(report_id)
  console.log(`report ${report_id} (${made.title}): ${made.overall_finding}`)
  console.log(`from ${made.period_start} to ${made.period_end}`)
  if (output !== undefined) await save(custos, { report_id, format, output })
})

const list = defineVerb({}, [], async (custos) => {
  const rows: string[][] = []
  for await (const one of custos.reports.list.all({ limit: 200 })) {
    const { report_id, report_type, generated_at, overall_finding, title } = one
    rows.push([report_id, report_type, generated_at, overall_finding, title ?? ''])
  }
  console.log(formatTable([['report', 'type', 'generated', 'finding', 'title'], ...rows]))
})

const download = defineVerb(FILE_OPTIONS, ['REPORT_ID'], (custos, { values, positionals }) =>
  save(custos, { ...values, report_id: positionals[0] ?? '' }),
)

async function save(
  custos: Custos,
  request: { report_id: string; format?: string | undefined; output?: string | undefined },
): Promise<void> {
  const { report_id, format = 'json', output } = request
  const report = await custos.reports.download(report_id, unchecked({ format }))
  const { bytes, file } = await saveDownload(new Response(report.bytes()), 'report', output)
  if (file !== null) console.log(`${file}: ${formatBytes(bytes)}`)
}
