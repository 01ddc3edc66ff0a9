// One tenant, for the operator: plan and usage, a new key, and the off-boarding.

import {
  offboardingDestroyKey,
  offboardingDestruction,
  tenantsGet,
  tenantsRotateKey,
  tenantsUpdate,
  tenantsUsage,
} from '@custos/client/operations'
import type { Tenant } from '@custos/client/types'
import { useParams } from '@tanstack/react-router'
import { Pencil, RefreshCw } from 'lucide-react'
import { useState } from 'react'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Id } from '../../parts/code.tsx'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import {
  cosignatureRows,
  Facts,
  Figure,
  Figures,
  formatBytes,
  formatNumber,
  inWords,
} from '../../parts/display.tsx'
import { Form, SelectField, TextField } from '../../parts/form.tsx'
import { VerifyHere } from '../../parts/json-view.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { jsonFile, SaveButton } from '../../parts/save-button.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { ShownOnce } from '../access/new-key.tsx'
import { PLAN_OPTIONS, planOf, TenantPill } from './tenants.tsx'

export function OneTenant() {
  const id = String(useParams({ strict: false })['tenantId'])
  const { data, error, request } = useCall(tenantsGet, [id])
  return (
    <>
      <PageHeader
        title={data ? data.name || 'Tenant' : 'Tenant'}
        about={<Id value={id} />}
        actions={data?.status === 'active' && <Acts tenant={data} />}
        request={request}
      />
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && (
        <>
          <TenantFacts tenant={data} />
          {data.status === 'active' && <MonthOfTenant tenantId={id} />}
          <Offboarding tenant={data} />
        </>
      )}
    </>
  )
}

const limitText = (limit: number | null): string => (limit === null ? 'none' : formatNumber(limit))

const TenantFacts = ({ tenant }: { readonly tenant: Tenant }) => (
  <Section title="Plan and limits">
    <Facts
      of={[
        ['State', <TenantPill key="s" tenant={tenant} />],
        ['Plan', tenant.plan],
        ['Created', <Time key="c" value={tenant.created_at} />],
        ['Most memories', limitText(tenant.limits.max_memories)],
        ['Most stores', limitText(tenant.limits.max_stores)],
        ['Most requests a minute', limitText(tenant.limits.max_requests_per_minute)],
        ['Most governed decisions a month', limitText(tenant.limits.max_governed_decisions)],
      ]}
    />
  </Section>
)

function MonthOfTenant({ tenantId }: { readonly tenantId: string }) {
  const { data, error } = useCall(tenantsUsage, [tenantId, { period: 'current_month' }])
  if (error) return <ErrorState error={error} />
  if (!data) return null
  return (
    <Section title="This month" about={`${formatBytes(data.total_bytes)} written.`}>
      <Figures>
        <Figure label="Reads" value={data.reads} />
        <Figure label="Writes" value={data.writes} />
        <Figure label="Erased and redacted" value={data.deletes} />
        <Figure label="All operations" value={data.total_operations} />
      </Figures>
    </Section>
  )
}

function Acts({ tenant }: { readonly tenant: Tenant }) {
  const [asked, setAsked] = useState<'change' | 'rotate' | null>(null)
  const rotate = useAction(tenantsRotateKey)
  const close = () => setAsked(null)
  return (
    <>
      <Button icon={Pencil} onClick={() => setAsked('change')}>
        Change
      </Button>
      <Button icon={RefreshCw} onClick={() => setAsked('rotate')}>
        Rotate key
      </Button>
      <Dialog title="Change the tenant" open={asked === 'change'} onClose={close}>
        <ChangeTenant tenant={tenant} done={close} />
      </Dialog>
      <ConfirmDialog
        title="Rotate the key of the tenant"
        open={asked === 'rotate'}
        onClose={close}
        verb="Rotate"
        typed="rotate"
        act={() => rotate.mutateAsync([tenant.tenant_id])}
      >
        <p>A new key replaces every key of class tenant; they stop working at once.</p>
      </ConfirmDialog>
      <Dialog title="The new key" open={rotate.data !== undefined} onClose={() => rotate.reset()}>
        {rotate.data && <ShownOnce apiKey={rotate.data.api_key} done={() => rotate.reset()} />}
      </Dialog>
    </>
  )
}

function ChangeTenant({ tenant, done }: { readonly tenant: Tenant; readonly done: () => void }) {
  const [name, setName] = useState(tenant.name)
  const [plan, setPlan] = useState(tenant.plan)
  const update = useAction(tenantsUpdate)
  // The tenant of local mode has a plan that cannot be chosen.
  const plans = plan === planOf(plan) ? PLAN_OPTIONS : [[plan, plan] as const, ...PLAN_OPTIONS]
  const submit = async () => {
    const change = plan === tenant.plan ? {} : { plan: planOf(plan) }
    await update.mutateAsync([tenant.tenant_id, { name, ...change }])
    done()
  }
  return (
    // The refusal is shown below; there is nothing else to do about it.
    <Form onSubmit={() => submit().catch(() => undefined)}>
      <TextField label="Name" required maxLength={200} value={name} onChange={setName} />
      <SelectField label="Plan" value={plan} options={plans} onChange={setPlan} />
      {update.error && <ErrorState error={update.error} />}
      <Button type="submit" kind="primary" busy={update.isPending} disabled={name === ''}>
        Save
      </Button>
    </Form>
  )
}

/** Poll interval: the removal of rows continues after the certificate. */
const POLL_MS = 2_000

const Offboarding = ({ tenant }: { readonly tenant: Tenant }) =>
  tenant.status === 'active' ? <Destroy tenant={tenant} /> : <Destroyed tenant={tenant} />

function Destroy({ tenant: { tenant_id: id, name } }: { readonly tenant: Tenant }) {
  const [asking, setAsking] = useState(false)
  const [basis, setBasis] = useState('end of contract')
  const destroy = useAction(offboardingDestroyKey)
  const confirm = `destroy ${id}`
  return (
    <Section
      title="Off-boarding"
      about="Destroys every key of the tenant, so that nobody can read what it stored."
    >
      <Button kind="danger" onClick={() => setAsking(true)}>
        Destroy the tenant
      </Button>
      <ConfirmDialog
        title={`Destroy ${name || id}`}
        open={asking}
        onClose={() => setAsking(false)}
        verb="Destroy"
        typed={confirm}
        act={() => destroy.mutateAsync([id, { confirm, legal_basis: basis }])}
      >
        <p>It cannot be undone, and backups cannot be read afterwards either.</p>
        <TextField label="Legal basis" required value={basis} onChange={setBasis} />
      </ConfirmDialog>
    </Section>
  )
}

function Destroyed({ tenant: { tenant_id: id } }: { readonly tenant: Tenant }) {
  const { data, error } = useCall(offboardingDestruction, [id], { refetchMs: POLL_MS })
  const certificate = data?.certificate
  return (
    <Section
      title="Off-boarding"
      about="The keys of the tenant are destroyed; its rows are removed afterwards."
      actions={
        certificate && (
          <SaveButton
            label="Save the certificate"
            load={async () => jsonFile(certificate, `tenant-${id}.json`)}
          />
        )
      }
    >
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && (
        <Facts
          of={[
            ['State', data.status],
            ['Requested', <Time key="r" value={data.requested_at} />],
            ['Keys destroyed', <Time key="d" value={data.destroyed_at} />],
            ['Rows', inWords(data.removal.state)],
            ['Legal basis', certificate?.legal_basis],
            ...(data.last_checkpoint
              ? [
                  ['Last checkpoint', data.last_checkpoint.epoch_number] as const,
                  ...cosignatureRows(data.last_checkpoint),
                ]
              : []),
            ...Object.entries(certificate?.counts ?? {}).map(
              ([kind, count]) => [`It had: ${inWords(kind)}`, formatNumber(count)] as const,
            ),
          ]}
        />
      )}
      {certificate && <VerifyHere value={certificate} />}
    </Section>
  )
}
