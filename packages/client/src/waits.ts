// Waits for the outcome after a reply with 202: the decision of a person, or a job.

import { sleep } from './ambient.ts'
import type { Client } from './client.ts'
import { NotCompletedError } from './errors.ts'
import { call } from './exchange.ts'
import { approvalsRequest, jobsGet } from './generated/operations.ts'
import type { ApprovalsRequestReply, JobsGetReply } from './generated/types.ts'

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined
  /** Poll interval in milliseconds; default 1,000. */
  readonly pollMs?: number | undefined
}

/** Waits until an approval request is approved. Throws NotCompletedError on another decision. */
export async function waitForApproval(
  client: Client,
  requestId: string,
  { signal, pollMs = 1_000 }: WaitOptions = {},
): Promise<ApprovalsRequestReply> {
  for (;;) {
    const request = await call(client, approvalsRequest, requestId, { signal })
    if (request.status === 'approved') return request
    if (request.status !== 'pending')
      throw new NotCompletedError(`the approval request ${requestId} is ${request.status}`, request)
    await sleep(pollMs, signal)
  }
}

/** Waits until a job is done. Throws NotCompletedError if it failed or was cancelled. */
export async function waitForJob(
  client: Client,
  jobId: string,
  { signal, pollMs = 1_000 }: WaitOptions = {},
): Promise<JobsGetReply> {
  for (;;) {
    const job = await call(client, jobsGet, jobId, { signal })
    if (job.state === 'done') return job
    if (job.state === 'failed' || job.state === 'cancelled')
      throw new NotCompletedError(`the job ${jobId} is ${job.state}`, job)
    await sleep(pollMs, signal)
  }
}
