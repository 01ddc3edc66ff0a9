// npm run eval:properties: no random store, query or budget makes an answer exceed its budget.

import { parseArgs } from 'node:util'
import { type BudgetRun, runInProcess, runOverHttp } from './budget-runs.ts'
import { withService } from './process.ts'

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '100000' },
    http: { type: 'string', default: '5000' },
    seed: { type: 'string', default: '1' },
  },
})

const seed = Number(values.seed)
const SHOWN = 10

function print(where: string, { requests, stores, violations, nearly_full }: BudgetRun): void {
  console.log(
    `${where}: ${requests} requests to ${stores} stores, ${nearly_full} filled nine tenths of ` +
      `their budget, ${violations.length} violations (seed ${seed})`,
  )
  for (const violation of violations.slice(0, SHOWN)) console.log(violation)
  if (violations.length > 0) process.exitCode = 1
}

print('in process', await runInProcess(Number(values.runs), seed))
print('over HTTP', await withService((service) => runOverHttp(service, Number(values.http), seed)))
