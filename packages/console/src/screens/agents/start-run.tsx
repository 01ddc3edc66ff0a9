// A run that begins with an agent: its input, budget and deadline. It leads to the page of the run.

import { orchestratorStartRun } from '@custos/client/operations'
import type { Agent, OrchestratorStartRunBody } from '@custos/client/types'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useAction } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Form, SelectField, TextArea, TextField } from '../../parts/form.tsx'
import { ErrorState } from '../../parts/states.tsx'

const EXECUTORS = [
  ['client', 'A program, through the API'],
  ['managed', 'This service'],
] as const

const MINUTE_S = 60

const amountOf = (text: string): number | null => (text === '' ? null : Number(text))

const NEW = { input: '', tokens: '20000', cost: '', minutes: '60' }
const NUMBERS = [
  ['tokens', 'Budget in tokens', 'Of all its steps; empty: no limit'],
  ['cost', 'Budget in millionths of the currency', 'Of all its steps; empty: no limit'],
  ['minutes', 'Deadline in minutes', 'At most a week'],
] as const

export function StartRun({ agent }: { readonly agent: Agent }) {
  const { caller } = useSession()
  const [draft, setDraft] = useState(NEW)
  const [executor, setExecutor] = useState<(typeof EXECUTORS)[number][0]>('client')
  const navigate = useNavigate()
  const start = useAction(orchestratorStartRun)
  const submit = async () => {
    const { input, tokens, cost, minutes } = draft
    const body: OrchestratorStartRunBody = {
      agent_id: agent.agent_id,
      input_text: input === '' ? null : input,
      budget: { tokens: amountOf(tokens), cost_micro: amountOf(cost) },
      deadline_s: Number(minutes) * MINUTE_S,
      executor,
    }
    const { run_id: runId } = await start.mutateAsync([body])
    await navigate({ to: '/runs/$runId', params: { runId }, search: {} })
  }
  return (
    // The refusal is shown below; there is nothing else to do about it.
    <Form label="Start a run" onSubmit={() => submit().catch(() => undefined)}>
      <TextArea
        label="Input"
        hint="What the run is for"
        value={draft.input}
        onChange={(input) => setDraft({ ...draft, input })}
      />
      {NUMBERS.map(([name, label, hint]) => (
        <TextField
          key={name}
          label={label}
          hint={hint}
          type="number"
          min={name === 'minutes' ? 1 : 0}
          required={name === 'minutes'}
          value={draft[name]}
          onChange={(value) => setDraft({ ...draft, [name]: value })}
        />
      ))}
      {caller.mode === 'session' ? (
        <p>A program executes its steps. What this service executes is started with a key.</p>
      ) : (
        <SelectField
          label="Who asks the models"
          value={executor}
          options={EXECUTORS}
          onChange={(value) => setExecutor(value === 'managed' ? 'managed' : 'client')}
        />
      )}
      {start.error && <ErrorState error={start.error} />}
      <Button type="submit" kind="primary" busy={start.isPending}>
        Start
      </Button>
    </Form>
  )
}
