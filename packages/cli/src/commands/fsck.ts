// custos fsck: verifies audit logs, seals and signatures. It only reads, and a service may run.

import { runFsck, type TenantReport } from '@custos/server'
import { type Command, readArguments, requirePositionals } from '../command.ts'
import { DATA_HELP, DATA_OPTIONS, readDataConfig } from '../data-options.ts'
import { formatTable, startProgress } from '../output.ts'

export const fsck: Command = {
  usage: '[--tenant ID] [options]',
  help: `Checks each tenant, on one snapshot: the whole audit log and its checkpoints; the seals
of all stores, memories and decisions; signatures of memories and decisions, and their digests in
the log; version chains, tombstones, certificates, the erasure ledger; reputation against the log.
It writes nothing and does not disturb a running service. It prints ids and numbers, never content.

  --tenant ID   check only this tenant
${DATA_HELP}

Exit status 0: nothing found. 1: findings, or the data could not be opened.`,
  run: runFsckCommand,
}

async function runFsckCommand(args: readonly string[]): Promise<number> {
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
  ['witnessed', 'witnessed'],
  ['stores', 'stores'],
  ['facts', 'facts'],
  ['tombstones', 'erased'],
  ['decisions', 'decisions'],
  ['certificates', 'certificates'],
] as const

/** Prints a row for each tenant, then all findings; also used by rehearsals of a restore. */
export function printReports(reports: readonly TenantReport[]): void {
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
