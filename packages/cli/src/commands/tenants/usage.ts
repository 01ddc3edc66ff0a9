// custos usage recount: recomputes the billed counters of tenants from their audit logs.

import { recountUsage } from '@custos/server'
import { type Command, readArguments, requirePositionals, UsageError } from '../../command.ts'
import { DATA_HELP, DATA_OPTIONS, readDataConfig } from '../../data-options.ts'
import { formatTable } from '../../output.ts'

export const usage: Command = {
  usage: 'recount [--tenant ID] [options]',
  help: `  recount   recount the governed decisions of each tenant from its audit log, and correct
            the counters that differ. Stop the service first, unless it uses PostgreSQL:
            there, writes of a tenant wait while it is counted

  --tenant ID   only this tenant
${DATA_HELP}`,
  run: runUsage,
}

async function runUsage(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...DATA_OPTIONS,
    tenant: { type: 'string' },
  })
  const [verb, ...rest] = positionals
  if (verb !== 'recount') throw new UsageError('expected recount')
  requirePositionals(rest)
  const tenants = await recountUsage(readDataConfig(values), values.tenant)
  const rows = tenants.flatMap(({ tenant_id, corrected }) =>
    corrected.map(({ period, kind, counted, on_log }) => [
      tenant_id,
      period,
      kind,
      counted,
      on_log,
    ]),
  )
  if (rows.length > 0)
    console.log(formatTable([['tenant', 'month', 'kind', 'counted', 'on the log'], ...rows]))
  console.log(`${tenants.length} tenants counted, ${rows.length} counters corrected`)
  return 0
}
