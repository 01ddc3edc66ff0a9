// Workflows: agents that take turns, the newest run of each, and a form that starts another.

import { orchestratorStartRun, workflowsList } from '@custos/client/operations'
import type { Workflow } from '@custos/client/types'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useAction, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Id } from '../../parts/code.tsx'
import { formatNumber, inWords, Pill } from '../../parts/display.tsx'
import { Form, SelectField, TextArea, TextField } from '../../parts/form.tsx'
import { Section } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { RUN_TONES, stateText } from './run-state.tsx'

const columnsWith = (nameOf: (agentId: string) => string): readonly Column<Workflow>[] => [
  {
    id: 'name',
    header: 'Name',
    grow: true,
    cell: ({ name, description }) => (
      <>
        <strong>{name}</strong> {description}
      </>
    ),
  },
  { id: 'mode', header: 'Mode', cell: ({ mode }) => inWords(mode) },
  {
    id: 'agents',
    header: 'Agents',
    cell: ({ agent_ids: ids, supervisor_agent_id: supervisor }) =>
      `${supervisor === null ? '' : `${nameOf(supervisor)} over `}${ids.map(nameOf).join(', ')}`,
  },
  { id: 'newest', header: 'Newest run', cell: (row) => <NewestRun of={row} /> },
  {
    id: 'tokens',
    header: 'Its tokens',
    numeric: true,
    cell: ({ total_tokens: tokens }) => formatNumber(tokens),
  },
  {
    id: 'id',
    header: 'Id',
    optional: true,
    cell: ({ workflow_id: id }) => <Id value={id} copy={false} />,
  },
]

function NewestRun({ of: { run_id: runId, status } }: { readonly of: Workflow }) {
  if (runId === null || status === 'created') return 'none yet'
  return (
    <Link to="/runs/$runId" params={{ runId }} search={{}}>
      <Pill tone={RUN_TONES[status]}>{stateText(status)}</Pill>
    </Link>
  )
}

export function Workflows({ nameOf }: { readonly nameOf: (agentId: string) => string }) {
  const name = 'workflows_'
  const list = useList(workflowsList, [usePage(name)], ({ workflows }) => workflows)
  const { rows = [] } = list
  return (
    <Section title="Workflows" about="Agents that take turns in one run, under one budget.">
      <Table
        name={name}
        label="Workflows"
        list={list}
        columns={columnsWith(nameOf)}
        rowId={({ workflow_id }) => workflow_id}
        empty={
          <EmptyState title="No workflows">
            <p>A program defines one through the API, from agents that exist.</p>
          </EmptyState>
        }
      />
      {rows.length > 0 && <StartWorkflow workflows={rows} />}
    </Section>
  )
}

const NEW = { input: '', tokens: '20000' }

/** The form that starts a run of a workflow, and then opens the page of the run. */
function StartWorkflow({ workflows }: { readonly workflows: readonly Workflow[] }) {
  const { can, caller } = useSession()
  const [chosen, setChosen] = useState('')
  const [draft, setDraft] = useState(NEW)
  const navigate = useNavigate()
  const start = useAction(orchestratorStartRun)
  if (!can('orchestrator:run') || !can('memory:read')) return null
  if (caller.mode === 'session')
    return <p>This service executes the runs of workflows: they are started with a key.</p>
  const submit = async () => {
    const { input, tokens } = draft
    const budget = tokens === '' ? null : { tokens: Number(tokens) }
    const body = { workflow_id: chosen, input_text: input, budget }
    const { run_id: runId } = await start.mutateAsync([body])
    await navigate({ to: '/runs/$runId', params: { runId }, search: {} })
  }
  return (
    // The refusal is shown below; there is nothing else to do about it.
    <Form label="Start a run of a workflow" onSubmit={() => submit().catch(() => undefined)}>
      <SelectField
        label="Workflow"
        required
        value={chosen}
        options={[
          ['', 'Choose'],
          ...workflows.map(({ workflow_id, name }) => [workflow_id, name] as const),
        ]}
        onChange={setChosen}
      />
      <TextArea
        label="What the run is for"
        required
        value={draft.input}
        onChange={(input) => setDraft({ ...draft, input })}
      />
      <TextField
        label="Budget in tokens"
        hint="Of all its steps; empty: no limit"
        type="number"
        min={0}
        value={draft.tokens}
        onChange={(tokens) => setDraft({ ...draft, tokens })}
      />
      {start.error && <ErrorState error={start.error} />}
      <Button type="submit" kind="primary" busy={start.isPending}>
        Start the run
      </Button>
    </Form>
  )
}
