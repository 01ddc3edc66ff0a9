// Tenants, for the operator: the list, and a new one with its first key.

import { tenantsCreate, tenantsList } from '@custos/client/operations'
import type { PlanName, Tenant } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useUrlState } from '../../api/url-state.ts'
import { type ListResult, useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Id } from '../../parts/code.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { counted, Pill } from '../../parts/display.tsx'
import { Form, SelectField, TextField } from '../../parts/form.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { ShownOnce } from '../access/new-key.tsx'

/** The most tenants that are shown; the operation returns all of them. */
const SHOWN = 200

const PLANS: readonly PlanName[] = ['starter', 'pro', 'enterprise']
export const PLAN_OPTIONS = PLANS.map((plan) => [plan, plan] as const)
export const planOf = (text: string): PlanName => PLANS.find((plan) => plan === text) ?? 'starter'

export const TenantPill = ({ tenant }: { readonly tenant: Tenant }) => (
  <Pill tone={tenant.status === 'active' ? 'good' : 'plain'}>{tenant.status}</Pill>
)

const linkOf = ({ tenant_id: tenantId }: Tenant) => ({
  to: '/tenants/$tenantId',
  params: { tenantId },
})

const COLUMNS: readonly Column<Tenant>[] = [
  {
    id: 'name',
    header: 'Name',
    grow: true,
    cell: (row) => (
      <Link {...linkOf(row)} search={{}}>
        {row.name || row.tenant_id}
      </Link>
    ),
  },
  { id: 'id', header: 'Id', cell: ({ tenant_id }) => <Id value={tenant_id} copy={false} /> },
  { id: 'plan', header: 'Plan', cell: ({ plan }) => plan },
  { id: 'status', header: 'State', cell: (row) => <TenantPill tenant={row} /> },
  { id: 'created', header: 'Created (UTC)', cell: ({ created_at }) => <Time value={created_at} /> },
]

function useTenants(text: string): ListResult<Tenant> & { readonly total: number } {
  const { data, error, isFetching, request } = useCall(tenantsList, [], { keep: true })
  const wanted = text.toLowerCase()
  const found = data?.filter(({ name, tenant_id: id }) =>
    `${name} ${id}`.toLowerCase().includes(wanted),
  )
  return {
    rows: found?.slice(0, SHOWN),
    nextCursor: null,
    error,
    isFetching,
    request,
    total: found?.length ?? 0,
  }
}

export function Tenants() {
  const [creating, setCreating] = useState(false)
  const [text, setText] = useUrlState('name')
  const list = useTenants(text)
  return (
    <>
      <PageHeader
        title="Tenants"
        about="Each tenant has its own data, keys, policies and audit log."
        actions={
          <Button kind="primary" icon={Plus} onClick={() => setCreating(true)}>
            New tenant
          </Button>
        }
      />
      <Table
        label="Tenants"
        list={list}
        columns={COLUMNS}
        rowId={({ tenant_id }) => tenant_id}
        rowLink={linkOf}
        filters={
          <Form inline label="Filters" onSubmit={() => undefined}>
            <TextField label="Name or id" value={text} onChange={setText} />
          </Form>
        }
        empty={<EmptyState title="No tenants" />}
      />
      {list.total > SHOWN && (
        <p>
          The oldest {SHOWN} of {counted(list.total, 'tenant')}. Search by name or id.
        </p>
      )}
      <Dialog title="New tenant" open={creating} onClose={() => setCreating(false)}>
        <NewTenant done={() => setCreating(false)} />
      </Dialog>
    </>
  )
}

function NewTenant({ done }: { readonly done: () => void }) {
  const [name, setName] = useState('')
  const [plan, setPlan] = useState<PlanName>('starter')
  const create = useAction(tenantsCreate)
  if (create.data) return <ShownOnce apiKey={create.data.api_key} done={done} />
  return (
    <Form onSubmit={() => create.mutate([{ name, plan }])}>
      <TextField label="Name" required maxLength={200} value={name} onChange={setName} />
      <SelectField
        label="Plan"
        value={plan}
        options={PLAN_OPTIONS}
        onChange={(value) => setPlan(planOf(value))}
      />
      {create.error && <ErrorState error={create.error} />}
      <Button type="submit" kind="primary" busy={create.isPending} disabled={name === ''}>
        Create tenant
      </Button>
    </Form>
  )
}
