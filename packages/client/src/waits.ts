// Waiting for what a 202 announced: a person's decision, or a job.

import { sleep } from './ambient.ts'
import type { Client } from './client.ts'
import { CustosError } from './errors.ts'
import { call } from './exchange.ts'
import { approvalsRequest, jobsGet } from './generated/operations.ts'
import type { ApprovalsRequestReply, JobsGetReply } from './generated/types.ts'

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined
  /** Between two looks; default 1,000. */
  readonly pollMs?: number | undefined
}

/** What was waited for did not happen: it was denied, expired, failed or cancelled. */
export class NotCompletedError extends CustosError {
  /** The last state of the approval request or job. */
  readonly last: ApprovalsRequestReply | JobsGetReply

  constructor(message: string, last: ApprovalsRequestReply | JobsGetReply) {
    super(message)
    this.last = last
  }
}

/** Waits until a request is approved. */
export const waitForApproval =
  (client: Client) =>
  async (requestId: string, options: WaitOptions = {}): Promise<ApprovalsRequestReply> => {
    for (;;) {
      const request = await call(client, approvalsRequest, requestId, { signal: options.signal })
      if (request.status === 'approved') return request
      if (request.status !== 'pending')
        throw new NotCompletedError(
          `the approval request ${requestId} is ${request.status}`,
          request,
        )
      await sleep(options.pollMs ?? 1_000, options.signal)
    }
  }

/** Waits until a job is done. */
export const waitForJob =
  (client: Client) =>
  async (jobId: string, options: WaitOptions = {}): Promise<JobsGetReply> => {
    for (;;) {
      const job = await call(client, jobsGet, jobId, { signal: options.signal })
      if (job.state === 'done') return job
      if (job.state === 'failed' || job.state === 'cancelled')
        throw new NotCompletedError(`the job ${jobId} is ${job.state}`, job)
      await sleep(options.pollMs ?? 1_000, options.signal)
    }
  }
