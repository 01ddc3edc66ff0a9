// custos cgr recompute: reputation, computed from the logs alone and compared with what is served.

import { runRecompute, type TenantReputation } from '@custos/server'
import { readArguments } from '../arguments.ts'
import { type Command, UsageError } from '../command.ts'
import { DATA_HELP, DATA_OPTIONS, readDataConfig } from '../data-options.ts'
import { startProgress } from '../progress.ts'
import { formatTable } from '../table.ts'

export const cgr: Command = {
  usage: 'recompute [--tenant ID] [options]',
  help: `recompute   reads each log on one snapshot, derives from its entries alone who decided
            what, what became of it and what reviewers said, sums it up anew, and compares
            every sum and every record with the tables that scores are read from. Nothing is
            written, a running service is not disturbed. The digest is over all scores as the
            log gives them, to the last bit: the same log gives the same digest anywhere.
            \`fsck\` verifies the log itself.

  --tenant ID   only this tenant
${DATA_HELP}

Exit status 0: equal. 1: differences, or the data could not be opened.`,
  run: runCgr,
}

async function runCgr(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...DATA_OPTIONS,
    tenant: { type: 'string' },
  })
  if (positionals.length !== 1 || positionals[0] !== 'recompute')
    throw new UsageError('expected recompute')
  const progress = startProgress('recompute')
  let reports: TenantReputation[]
  try {
    reports = await runRecompute(readDataConfig(values), {
      ...(values.tenant === undefined ? {} : { tenant_id: values.tenant }),
      progress: (text) => progress.show(text),
    })
  } finally {
    progress.end()
  }
  printReports(reports)
  return reports.every(({ differences }) => differences.length === 0) ? 0 : 1
}

const COLUMNS = ['entries', 'agents', 'decisions', 'outcomes', 'reviews'] as const

function printReports(reports: readonly TenantReputation[]): void {
  const head = ['tenant', ...COLUMNS, 'digest of scores', 'differences']
  const rows = reports.map((report) => [
    report.tenant_id,
    ...COLUMNS.map((column) => report[column]),
    report.scores_digest,
    report.differences.length,
  ])
  console.log(formatTable([head, ...rows]))
  for (const { tenant_id, differences } of reports)
    for (const { table, id, what } of differences)
      console.log(`${tenant_id}: ${table} ${id}: ${what}`)
  const total = reports.reduce((sum, { differences }) => sum + differences.length, 0)
  console.log(total === 0 ? 'equal to the last bit' : `${total} differences`)
}
