// A job, which continues after the reply: its progress, and a button that cancels it.

import { jobsCancel, jobsGet } from '@custos/client/operations'
import type { Job } from '@custos/client/types'
import { useEffect } from 'react'
import { useSession } from '../api/session.tsx'
import { useAction, useCall } from '../api/use-call.ts'
import { Button } from './button.tsx'
import { inWords, Meter } from './display.tsx'
import { ErrorState } from './states.tsx'

const POLL_MS = 700

const isEnded = (job: Job | undefined): boolean =>
  job !== undefined && job.state !== 'queued' && job.state !== 'running'

export function JobProgress(props: {
  readonly jobId: string
  readonly label: string
  /** Called once, when the job is done. */
  readonly onDone?: (job: Job) => void
}) {
  const { jobId, label, onDone } = props
  const { can } = useSession()
  const { data, error } = useCall(jobsGet, [jobId], { refetchMs: POLL_MS })
  const cancel = useAction(jobsCancel)
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each job
  useEffect(() => {
    if (data?.state === 'done') onDone?.(data)
  }, [data?.state])
  if (error) return <ErrorState error={error} />
  if (!data) return null
  const { done, total } = data.progress
  return (
    <div role="status">
      <p>
        {label}: {inWords(data.state)}
        {data.state === 'failed' && data.error && `, ${inWords(data.error)}`}
      </p>
      {total > 0 && <Meter label="Progress" value={done} max={total} />}
      {cancel.error && <ErrorState error={cancel.error} />}
      {!isEnded(data) && data.cancellable && can('compliance:admin') && (
        <Button busy={cancel.isPending} onClick={() => cancel.mutate([jobId])}>
          Cancel
        </Button>
      )}
    </div>
  )
}
