// A job that is never begun: somebody who does not exist holds it.

import { updateJob } from '../../../../packages/server/src/platform/db/jobs.sql.ts'
import type { TestService } from '../../../../packages/server/src/testing/harness.ts'
import { rawSql } from '../../../../packages/server/src/testing/raw-sql.ts'

const HELD_UNTIL_US = Number.MAX_SAFE_INTEGER

/** Queued, of a kind that can be cancelled. Returns its id. */
export function openJob({ kernel }: TestService, tenant_id: string): Promise<string> {
  const { db, jobs, ids } = kernel
  return db.transact(tenant_id, async (tx) => {
    const payload = { report_id: ids.hex(16), report_type: 'gdpr', log_seq: 0 }
    const { job_id } = await jobs.enqueue(tx, 'report.generate', payload)
    await updateJob(tx, job_id, { lease_until_us: HELD_UNTIL_US })
    return job_id
  })
}

/** Once every other job has ended, but for those that send to webhooks: they never do. */
export async function otherJobsEnded(service: TestService): Promise<void> {
  const open = `select count(*) as count from jobs
    where state in ('queued', 'running') and lease_until_us < ${HELD_UNTIL_US}
      and kind <> 'webhook.deliver'`
  for (;;) {
    const [row] = await rawSql(service, open, [])
    if (Number(row?.['count']) === 0) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
