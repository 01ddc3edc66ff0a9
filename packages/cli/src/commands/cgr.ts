// custos cgr recompute: computes reputation from the audit logs and compares it with the tables.

import { runRecompute, type TenantReputation } from '@custos/server'
import { type Command, readArguments, UsageError } from '../command.ts'
import { DATA_HELP, DATA_OPTIONS, readDataConfig } from '../data-options.ts'
import { formatTable, startProgress } from '../output.ts'

export const cgr: Command = {
  usage: 'recompute [--tenant ID] [options]',
  help: `recompute   reads each audit log on one snapshot, recomputes decisions, outcomes, reviews
            and sums from its entries alone, and compares them with the tables that scores are
            read from. It writes nothing and does not disturb a running service. The digest
            covers all scores to the last bit: the same log gives the same digest on every
            machine. \`custos fsck\` verifies the log itself.

  --tenant ID   only this tenant
${DATA_HELP}

Exit status 0: no differences. 1: differences, or the data could not be opened.`,
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
  console.log(total === 0 ? 'no differences' : `${total} differences`)
}
