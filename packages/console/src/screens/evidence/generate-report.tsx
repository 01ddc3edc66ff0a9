// The form of a new report: framework and period. A job, which can be cancelled, makes the report.

import { reportsFrameworks, reportsGenerate } from '@custos/client/operations'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Form, SelectField, TextField } from '../../parts/form.tsx'
import { JobProgress } from '../../parts/job.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'

export function GenerateReport() {
  const { data, error } = useCall(reportsFrameworks, [])
  const [chosen, setChosen] = useState('')
  const [days, setDays] = useState('30')
  const [title, setTitle] = useState('')
  const navigate = useNavigate()
  const generate = useAction(reportsGenerate)
  if (error) return <ErrorState error={error} />
  if (!data) return <LoadingState />
  const framework = data.frameworks.find(({ type }) => type === chosen) ?? data.frameworks[0]
  if (!framework) return <p>This service knows no framework.</p>
  const started = generate.data
  const open = (reportId: string) =>
    void navigate({ to: '/evidence/$reportId', params: { reportId }, search: {} })
  const submit = () =>
    generate.mutate([
      {
        framework: framework.type,
        period_days: Number(days),
        background: true,
        ...(title === '' ? {} : { title }),
      },
    ])
  return (
    <Form onSubmit={submit}>
      <SelectField
        label="Framework"
        value={framework.type}
        options={data.frameworks.map(({ type, name }) => [type, name] as const)}
        onChange={setChosen}
      />
      <p>
        {framework.regulation}, {framework.articles.length} articles.
      </p>
      <TextField
        label="Days up to now"
        type="number"
        min={1}
        max={365}
        required
        value={days}
        onChange={setDays}
      />
      <TextField label="Title" hint="Optional" maxLength={256} value={title} onChange={setTitle} />
      {generate.error && <ErrorState error={generate.error} />}
      {started && 'job_id' in started && (
        <JobProgress jobId={started.job_id} label="Report" onDone={() => open(started.report_id)} />
      )}
      <Button type="submit" kind="primary" busy={generate.isPending} disabled={!!started}>
        Generate
      </Button>
    </Form>
  )
}
