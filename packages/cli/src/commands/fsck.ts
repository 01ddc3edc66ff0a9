// custos fsck: re-derives every log and opens every seal, live and read-only.

import { runFsck, type TenantReport } from '@custos/server'
import { readArguments, requirePositionals } from '../arguments.ts'
import type { Command } from '../command.ts'
import { DATA_HELP, DATA_OPTIONS, readDataConfig } from '../data-options.ts'
import { startProgress } from '../progress.ts'
import { formatTable } from '../table.ts'

export const fsck: Command = {
  usage: '[--tenant ID] [options]',
  help: `Checks, for each tenant on one snapshot: the whole log with its checkpoints, every seal of
stores, facts and decisions, provenance and decision signatures, what the log committed to,
versions of facts, tombstones, certificates, the erasure ledger, and reputation against the log.
Nothing is written, a running service is not disturbed. Prints ids and numbers, never content.

  --tenant ID   only this tenant
${DATA_HELP}

Exit status 0: nothing found. 1: findings, or the data could not be opened.`,
  run: runCheck,
}

async function runCheck(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...DATA_OPTIONS,
    tenant: { type: 'string' },
  })
  requirePositionals(positionals)
  const progress = startProgress('fsck')
  let reports: TenantReport[]
  try {
    reports = await runFsck(readDataConfig(values), {
      ...(values.tenant === undefined ? {} : { tenant_id: values.tenant }),
      progress: (text) => progress.show(text),
    })
  } finally {
    progress.end()
  }
  printReports(reports)
  return reports.every(({ findings }) => findings.length === 0) ? 0 : 1
}

const COLUMNS = [
  ['entries', 'log'],
  ['epochs', 'epochs'],
  ['stores', 'stores'],
  ['facts', 'facts'],
  ['tombstones', 'erased'],
  ['decisions', 'decisions'],
  ['certificates', 'certificates'],
] as const

function printReports(reports: readonly TenantReport[]): void {
  const head = ['tenant', ...COLUMNS.map(([, title]) => title), 'findings']
  const rows = reports.map(({ tenant_id, counts, findings }) => [
    tenant_id,
    ...COLUMNS.map(([field]) => counts[field]),
    findings.length,
  ])
  console.log(formatTable([head, ...rows]))
  for (const { tenant_id, kind, id, what } of reports.flatMap(({ findings }) => findings))
    console.log(`${tenant_id}: ${kind} ${id}: ${what}`)
  const total = reports.reduce((sum, { findings }) => sum + findings.length, 0)
  console.log(total === 0 ? 'nothing found' : `${total} findings`)
}
