// One agent: what it consists of, its change and its end, and a run that begins with it.

import {
  orchestratorDeleteAgent,
  orchestratorGetAgent,
  orchestratorStartRun,
  orchestratorUpdateAgent,
} from '@custos/client/operations'
import type { Agent, OrchestratorStartRunBody } from '@custos/client/types'
import { useNavigate, useParams } from '@tanstack/react-router'
import { Pencil, Play, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock, Id } from '../../parts/code.tsx'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { Facts, formatNumber } from '../../parts/display.tsx'
import { Form, SelectField, TextArea, TextField } from '../../parts/form.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { AgentForm } from './agent-form.tsx'
import { AgentPill } from './agents.tsx'

export function OneAgent() {
  const id = String(useParams({ strict: false })['agentId'])
  const remove = useAction(orchestratorDeleteAgent)
  // An agent that is being deleted is not read again.
  const enabled = !remove.isPending && !remove.isSuccess
  const { data, error, request } = useCall(orchestratorGetAgent, [id], { enabled })
  return (
    <>
      <PageHeader
        title={data?.name ?? 'Agent'}
        about={data?.description}
        actions={data && <Acts agent={data} remove={() => remove.mutateAsync([id])} />}
        request={request}
      />
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && <AgentBody agent={data} />}
    </>
  )
}

function AgentBody({ agent }: { readonly agent: Agent }) {
  return (
    <>
      <Section title="Made with">
        <Facts
          of={[
            ['State', <AgentPill key="s" agent={agent} />],
            ['Role', agent.role],
            ['Model', agent.model_id],
            ['Other models', agent.fallback_models.join(', ')],
            ['Stores', agent.memory_stores.join(', ') || 'every store'],
            ['Tools', agent.tools.join(', ') || 'every tool'],
            ['Steps of a run', formatNumber(agent.max_steps)],
            ['Tokens of a step', formatNumber(agent.max_tokens_per_step)],
            ['Temperature', String(agent.temperature)],
            ['Version', String(agent.version)],
            ['Changed', <Time key="u" value={agent.updated_at} />],
            ['Created', <Time key="c" value={agent.created_at} />],
            ['Id', <Id key="i" value={agent.agent_id} />],
          ]}
        />
      </Section>
      {agent.system_prompt !== '' && (
        <Section title="Instructions">
          <CodeBlock label="Instructions" text={agent.system_prompt} />
        </Section>
      )}
    </>
  )
}

function Acts({ agent, remove }: { agent: Agent; remove: () => Promise<unknown> }) {
  const { can } = useSession()
  const [asked, setAsked] = useState<'run' | 'change' | 'delete' | null>(null)
  const navigate = useNavigate()
  const update = useAction(orchestratorUpdateAgent)
  const close = () => setAsked(null)
  const { agent_id: id, enabled } = agent
  return (
    <>
      <Button kind="primary" icon={Play} disabled={!enabled} onClick={() => setAsked('run')}>
        Start a run
      </Button>
      {can('orchestrator:admin') && (
        <>
          <Button
            busy={update.isPending}
            onClick={() => update.mutate([id, { enabled: !enabled }])}
          >
            {enabled ? 'Disable' : 'Enable'}
          </Button>
          <Button icon={Pencil} onClick={() => setAsked('change')}>
            Change
          </Button>
          <Button kind="danger" icon={Trash2} onClick={() => setAsked('delete')}>
            Delete
          </Button>
        </>
      )}
      {update.error && <ErrorState error={update.error} />}
      <Dialog title="Start a run" open={asked === 'run'} onClose={close}>
        <StartRun agent={agent} />
      </Dialog>
      <Dialog title="Change the agent" open={asked === 'change'} onClose={close} wide>
        <AgentForm agent={agent} done={close} />
      </Dialog>
      <ConfirmDialog
        title="Delete the agent"
        open={asked === 'delete'}
        onClose={close}
        verb="Delete"
        act={async () => {
          await remove()
          await navigate({ to: '/agents', search: {} })
        }}
      >
        <p>Its instructions are destroyed. Runs that have ended stay, with their receipts.</p>
      </ConfirmDialog>
    </>
  )
}

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

function StartRun({ agent }: { readonly agent: Agent }) {
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
