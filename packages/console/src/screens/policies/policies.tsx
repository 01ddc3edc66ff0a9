// Policies: the set in force, a request to try, and the results of evaluations.

import {
  governanceListPolicies,
  governanceLogs,
  governanceSeedDefaults,
  governanceStats,
} from '@custos/client/operations'
import type { GovernanceLog, Policy } from '@custos/client/types'
import { Link, useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { nowMs, parseTime } from '../../ambient.ts'
import { useSession } from '../../api/session.tsx'
import { useAction, useCall } from '../../api/use-call.ts'
import { useList, usePage } from '../../api/use-list.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Figure, Figures, formatNumber, inWords, Pill } from '../../parts/display.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import css from './policies.module.css'
import { PolicyForm } from './policy-form.tsx'
import { ResultsTable } from './results.tsx'
import { TryRequest } from './try-request.tsx'

const DAY_MS = 86_400_000
const COUNTED = 500

/** How often the result of a policy was not `allowed` in the last day. */
type Hits = (policyId: string) => string

function hitsOf(logs: readonly GovernanceLog[]): Hits {
  const since = nowMs() - DAY_MS
  const recent = logs.filter(({ created_at: at }) => (parseTime(at) ?? 0) >= since)
  // If the last day fills the page, there may be more.
  const more = recent.length === COUNTED ? '+' : ''
  return (policyId) => {
    const hits = recent.filter((log) => log.policy_id === policyId && log.result !== 'allowed')
    return `${formatNumber(hits.length)}${more}`
  }
}

const columnsWith = (hits: Hits): readonly Column<Policy>[] => [
  { id: 'priority', header: 'Order', numeric: true, cell: ({ priority }) => priority },
  {
    id: 'name',
    header: 'Policy',
    grow: true,
    cell: ({ policy_id: policyId, name, description }) => (
      <>
        <Link to="/policies/$policyId" params={{ policyId }} search={{}}>
          {name}
        </Link>
        <p className={css['detail']}>{description}</p>
      </>
    ),
  },
  {
    id: 'type',
    header: 'Type',
    cell: ({ policy_type: type }) => <span className={css['name']}>{inWords(type)}</span>,
  },
  { id: 'action', header: 'Action', cell: ({ action }) => <ActionPill action={action} /> },
  {
    id: 'enabled',
    header: 'State',
    cell: ({ enabled }) => (enabled ? <Pill tone="good">in force</Pill> : <Pill>off</Pill>),
  },
  { id: 'hits', header: 'Hits in 24 h', numeric: true, cell: ({ policy_id: id }) => hits(id) },
  { id: 'version', header: 'Version', numeric: true, cell: ({ version }) => version },
]

const ACTION_TONES = { allow: 'good', deny: 'bad', escalate: 'warn', log_only: 'accent' } as const

export const ActionPill = ({ action }: Pick<Policy, 'action'>) => (
  <Pill tone={ACTION_TONES[action]}>{inWords(action)}</Pill>
)

export function Policies() {
  const list = useList(governanceListPolicies, [usePage()], ({ policies }) => policies)
  const { data, error } = useCall(governanceLogs, [{ limit: COUNTED }], { keep: true })
  return (
    <>
      <PageHeader
        title="Policies"
        about="Each request passes them in this order. A denial takes precedence over an approval."
        actions={<PolicyActions />}
      />
      <PolicyFigures />
      {error && <ErrorState error={error} />}
      <Section title="In order of evaluation">
        <Table
          label="Policies"
          list={list}
          columns={columnsWith(hitsOf(data?.logs ?? []))}
          rowId={({ policy_id: id }) => id}
          rowLink={({ policy_id: policyId }) => ({
            to: '/policies/$policyId',
            params: { policyId },
          })}
          empty={
            <EmptyState title="No policies yet">
              <p>Without one every request is allowed. The defaults are a beginning.</p>
            </EmptyState>
          }
        />
      </Section>
      <Section
        title="Try a request"
        about="What the policies in force say to it, one by one. Nothing else happens."
      >
        <TryRequest />
      </Section>
      <Section title="Results" about="Newest first, without what was asked">
        <ResultsTable />
      </Section>
    </>
  )
}

function PolicyFigures() {
  const { data } = useCall(governanceStats, [])
  return (
    <Figures>
      <Figure label="Policies in force" value={data?.policies_active} />
      <Figure label="Results" value={data?.evaluations_total} />
      <Figure label="Denials" value={data?.denials_total} />
      <Figure label="Sent to approval" value={data?.escalations_total} />
    </Figures>
  )
}

function PolicyActions() {
  const { can } = useSession()
  const navigate = useNavigate()
  const [creating, setCreating] = useState(false)
  const seed = useAction(governanceSeedDefaults)
  if (!can('governance:admin')) return null
  const open = (policyId: string) =>
    void navigate({ to: '/policies/$policyId', params: { policyId }, search: {} })
  return (
    <>
      <Button busy={seed.isPending} onClick={() => seed.mutate([{}])}>
        Create defaults
      </Button>
      <Button kind="primary" icon={Plus} onClick={() => setCreating(true)}>
        New policy
      </Button>
      <span role="status">
        {seed.data && (seed.data.seeded === 0 ? 'All exist' : `${seed.data.seeded} created`)}
      </span>
      {seed.error && <ErrorState error={seed.error} />}
      <Dialog title="New policy" open={creating} onClose={() => setCreating(false)}>
        <PolicyForm onDone={open} />
      </Dialog>
    </>
  )
}
