// Agents, the models that they ask, and the tools that models may call.

import { orchestratorListAgents } from '@custos/client/operations'
import type { Agent } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Pill } from '../../parts/display.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { AgentForm } from './agent-form.tsx'
import { Models } from './models.tsx'
import { Tools } from './tools.tsx'

const linkOf = ({ agent_id: agentId }: Agent) => ({ to: '/agents/$agentId', params: { agentId } })

export const AgentPill = ({ agent }: { readonly agent: Agent }) => (
  <Pill tone={agent.enabled ? 'good' : 'plain'}>{agent.enabled ? 'enabled' : 'disabled'}</Pill>
)

const COLUMNS: readonly Column<Agent>[] = [
  {
    id: 'name',
    header: 'Name',
    grow: true,
    cell: (row) => (
      <>
        <Link {...linkOf(row)} search={{}}>
          {row.name}
        </Link>{' '}
        {row.description}
      </>
    ),
  },
  { id: 'role', header: 'Role', cell: ({ role }) => role },
  { id: 'model', header: 'Model', cell: ({ model_id: model }) => model },
  { id: 'state', header: 'State', cell: (row) => <AgentPill agent={row} /> },
  { id: 'version', header: 'Version', numeric: true, cell: ({ version }) => version },
  {
    id: 'changed',
    header: 'Changed (UTC)',
    cell: ({ updated_at }) => <Time value={updated_at} />,
  },
  {
    id: 'stores',
    header: 'Stores',
    optional: true,
    cell: ({ memory_stores: stores }) => stores.join(', ') || 'every store',
  },
  {
    id: 'tools',
    header: 'Tools',
    optional: true,
    cell: ({ tools }) => tools.join(', ') || 'every tool',
  },
]

export function Agents() {
  const { can } = useSession()
  const [creating, setCreating] = useState(false)
  const list = useList(orchestratorListAgents, [usePage()], ({ agents }) => agents)
  return (
    <>
      <PageHeader
        title="Agents"
        about="What a step of a run is made with: model, instructions, stores and tools."
        actions={
          can('orchestrator:admin') && (
            <Button kind="primary" icon={Plus} onClick={() => setCreating(true)}>
              New agent
            </Button>
          )
        }
      />
      <Section title="All agents">
        <Table
          label="Agents"
          list={list}
          columns={COLUMNS}
          rowId={({ agent_id }) => agent_id}
          rowLink={linkOf}
          empty={
            <EmptyState title="No agents yet">
              <p>An agent says which model is asked, with which instructions and which memory.</p>
            </EmptyState>
          }
        />
      </Section>
      {can('llm:admin') && (
        <>
          <Section
            title="Models"
            about="Who answers for a model in runs that this service executes."
          >
            <Models />
          </Section>
          <Section
            title="Tools"
            about="What models may have done in runs that this service executes."
          >
            <Tools />
          </Section>
        </>
      )}
      <Dialog title="New agent" open={creating} onClose={() => setCreating(false)} wide>
        <AgentForm done={() => setCreating(false)} />
      </Dialog>
    </>
  )
}
