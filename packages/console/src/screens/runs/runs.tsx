// Runs: active runs of agents, pending approvals, and workflows.

import { orchestratorListAgents, orchestratorListRuns } from '@custos/client/operations'
import type { OrchestratorListRunsQuery, Run } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { useUrlState } from '../../api/url-state.ts'
import { useCall, useList, usePage } from '../../api/use-call.ts'
import { formatNumber } from '../../parts/display.tsx'
import { Form, SelectField } from '../../parts/form.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { RunPill, stateText } from './run-state.tsx'
import { Workflows } from './workflows.tsx'

const STATES: readonly Run['state'][] = [
  'running',
  'waiting_hitl',
  'waiting_client',
  'waiting_resolution',
  'compensating',
  'completed',
  'denied',
  'failed',
  'terminated',
]

/** Names of agents by their id. */
export function useAgentNames(): (agentId: string) => string {
  const { data } = useCall(orchestratorListAgents, [{ limit: 200 }])
  return (agentId) => data?.agents.find((agent) => agent.agent_id === agentId)?.name ?? agentId
}

const linkOf = ({ run_id: runId }: Run) => ({ to: '/runs/$runId', params: { runId } })

const columnsWith = (nameOf: (agentId: string) => string): readonly Column<Run>[] => [
  {
    id: 'agent',
    header: 'Agent',
    grow: true,
    cell: (row) => (
      <Link {...linkOf(row)} search={{}}>
        {nameOf(row.agent_id)}
        {row.workflow_id && ', first of a workflow'}
      </Link>
    ),
  },
  { id: 'state', header: 'State', cell: (row) => <RunPill run={row} /> },
  { id: 'steps', header: 'Steps', numeric: true, cell: ({ steps_total: steps }) => steps },
  {
    id: 'tokens',
    header: 'Tokens',
    numeric: true,
    cell: ({ spent, budget }) =>
      `${formatNumber(spent.tokens)}${budget.tokens ? ` of ${formatNumber(budget.tokens)}` : ''}`,
  },
  { id: 'receipts', header: 'Receipts', numeric: true, cell: ({ receipts }) => receipts },
  { id: 'started', header: 'Started (UTC)', cell: ({ created_at }) => <Time value={created_at} /> },
  {
    id: 'ended',
    header: 'Ended (UTC)',
    cell: ({ ended_at }) => <Time value={ended_at} />,
    optional: true,
  },
  { id: 'by', header: 'Started by', optional: true, cell: (row) => <code>{row.started_by}</code> },
]

export function Runs() {
  const [state, setState] = useUrlState('state')
  const known = STATES.find((one) => one === state)
  const query: OrchestratorListRunsQuery = { ...usePage(), ...(known ? { state: known } : {}) }
  const list = useList(orchestratorListRuns, [query], ({ runs }) => runs)
  const nameOf = useAgentNames()
  return (
    <>
      <PageHeader
        title="Runs"
        about="Steps of agents: each with its memory, policies, a budget and a signed receipt."
      />
      <Section title="All runs">
        <Table
          label="Runs"
          list={list}
          columns={columnsWith(nameOf)}
          rowId={({ run_id }) => run_id}
          rowLink={linkOf}
          filters={
            <Form inline label="Filters" onSubmit={() => undefined}>
              <SelectField
                label="State"
                value={known ?? ''}
                options={[['', 'All'], ...STATES.map((one) => [one, stateText(one)] as const)]}
                onChange={setState}
              />
            </Form>
          }
          empty={
            <EmptyState title="No runs">
              <p>
                A program starts a run through the API; the page of an{' '}
                <Link to="/agents">agent</Link> starts one too.
              </p>
            </EmptyState>
          }
        />
      </Section>
      <Workflows nameOf={nameOf} />
    </>
  )
}
