// Sends a part of the audit log again, as a job.

import { webhooksReplay } from '@custos/client/operations'
import { useState } from 'react'
import { useAction } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Form, TextField } from '../../parts/form.tsx'
import { JobProgress } from '../../parts/job.tsx'
import { ErrorState } from '../../parts/states.tsx'

export function Replay({ webhookId }: { readonly webhookId: string }) {
  const [from, setFrom] = useState('0')
  const [to, setTo] = useState('')
  const replay = useAction(webhooksReplay)
  const submit = () => {
    const until = to === '' ? {} : { to_seq: Number(to) }
    replay.mutate([webhookId, { from_seq: Number(from), ...until }])
  }
  const job = replay.data
  return (
    <>
      <Form inline label="Replay" onSubmit={submit}>
        <TextField
          label="From log position"
          type="number"
          min={0}
          required
          value={from}
          onChange={setFrom}
        />
        <TextField label="To (empty: the last)" type="number" min={0} value={to} onChange={setTo} />
        <Button type="submit" busy={replay.isPending}>
          Replay
        </Button>
      </Form>
      {replay.error && <ErrorState error={replay.error} />}
      {job && (
        <JobProgress
          key={job.job_id}
          jobId={job.job_id}
          label={`Replay of entries ${job.from_seq} to ${job.to_seq}`}
        />
      )}
    </>
  )
}
