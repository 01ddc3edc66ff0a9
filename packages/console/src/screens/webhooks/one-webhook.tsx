// One webhook endpoint: its state, deliveries and replay, and buttons to test, change or delete it.

import {
  webhooksDelete,
  webhooksDeliveries,
  webhooksGet,
  webhooksReplay,
  webhooksRetry,
  webhooksTest,
  webhooksUpdate,
} from '@custos/client/operations'
import type { Webhook, WebhookDelivery, WebhooksDeliveriesQuery } from '@custos/client/types'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { Pencil, RefreshCw, Send, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useUrlState } from '../../api/url-state.ts'
import { useAction, useCall, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Id } from '../../parts/code.tsx'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { Facts, formatNumber, inWords, Pill } from '../../parts/display.tsx'
import { Form, SelectField, TextField } from '../../parts/form.tsx'
import { JobProgress } from '../../parts/job.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { ChangeWebhook, RotateSecret } from './webhook-form.tsx'
import css from './webhooks.module.css'
import { WebhookPill } from './webhooks.tsx'

export function OneWebhook() {
  const id = String(useParams({ strict: false })['webhookId'])
  const { data, error, request } = useCall(webhooksGet, [id])
  return (
    <>
      <PageHeader
        title={data ? data.url || 'Endpoint' : 'Endpoint'}
        about={data?.description}
        actions={data && <Acts webhook={data} />}
        request={request}
      />
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && <EndpointBody webhook={data} />}
    </>
  )
}

function EndpointBody({ webhook }: { readonly webhook: Webhook }) {
  return (
    <>
      <Section title="State" actions={<TestButton webhook={webhook} />}>
        <Facts
          of={[
            ['State', <WebhookPill key="s" {...webhook} />],
            ['Events', webhook.events.includes('*') ? 'every entry' : webhook.events.join(', ')],
            ['Signature', webhook.signature === 'v1' ? 'HMAC-SHA256' : 'Ed25519'],
            ['Next log position', formatNumber(webhook.cursor_seq)],
            ['Entries behind', formatNumber(webhook.lag)],
            ['Last success', <Time key="l" value={webhook.last_success_at} none="never" />],
            ['Failing since', webhook.failing_since && <Time value={webhook.failing_since} />],
            ['Created', <Time key="c" value={webhook.created_at} />],
            ['Id', <Id key="i" value={webhook.webhook_id} />],
          ]}
        />
      </Section>
      <Section
        title="Deliveries"
        about="Of the last 30 days, newest first. Payloads and answers are not kept."
      >
        <Deliveries webhookId={webhook.webhook_id} />
      </Section>
      <Section
        title="Replay"
        about="Sends a part of the audit log again, for example after the receiver was away."
      >
        <Replay webhookId={webhook.webhook_id} />
      </Section>
    </>
  )
}

function TestButton({ webhook }: { readonly webhook: Webhook }) {
  const test = useAction(webhooksTest)
  const sent = test.data?.delivery
  return (
    <>
      <span role="status">
        {sent && (
          <>
            <DeliveryPill delivery={sent} /> {sent.error && inWords(sent.error)}
          </>
        )}
      </span>
      <Button
        icon={Send}
        busy={test.isPending}
        disabled={!webhook.enabled}
        onClick={() => test.mutate([webhook.webhook_id])}
      >
        Send a test
      </Button>
      {test.error && <ErrorState error={test.error} />}
    </>
  )
}

function Acts({ webhook }: { readonly webhook: Webhook }) {
  const [asked, setAsked] = useState<'change' | 'rotate' | 'delete' | null>(null)
  const navigate = useNavigate()
  const update = useAction(webhooksUpdate)
  const remove = useAction(webhooksDelete)
  const close = () => setAsked(null)
  const id = webhook.webhook_id
  return (
    <>
      <Button
        busy={update.isPending}
        onClick={() => update.mutate([id, { enabled: !webhook.enabled }])}
      >
        {webhook.enabled ? 'Pause' : 'Enable'}
      </Button>
      <Button icon={Pencil} onClick={() => setAsked('change')}>
        Change
      </Button>
      {webhook.signature === 'v1' && (
        <Button icon={RefreshCw} onClick={() => setAsked('rotate')}>
          Rotate secret
        </Button>
      )}
      <Button kind="danger" icon={Trash2} onClick={() => setAsked('delete')}>
        Delete
      </Button>
      {update.error && <ErrorState error={update.error} />}
      <Dialog title="Change the endpoint" open={asked === 'change'} onClose={close}>
        <ChangeWebhook webhook={webhook} done={close} />
      </Dialog>
      <Dialog title="Rotate the secret" open={asked === 'rotate'} onClose={close}>
        <RotateSecret webhook={webhook} done={close} />
      </Dialog>
      <ConfirmDialog
        title="Delete the endpoint"
        open={asked === 'delete'}
        onClose={close}
        verb="Delete"
        act={async () => {
          await navigate({ to: '/webhooks', search: {} })
          await remove.mutateAsync([id])
        }}
      >
        <p className={css['names']}>
          {webhook.url} gets nothing more. Its URL and secrets are destroyed.
        </p>
      </ConfirmDialog>
    </>
  )
}

function Replay({ webhookId }: { readonly webhookId: string }) {
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

const TONES = { pending: 'plain', retrying: 'warn', delivered: 'good', failed: 'bad' } as const
const REFETCH_MS = 2_000
const STATES: readonly WebhookDelivery['status'][] = ['pending', 'retrying', 'delivered', 'failed']

const DeliveryPill = ({ delivery }: { readonly delivery: WebhookDelivery }) => (
  <Pill tone={TONES[delivery.status]}>{delivery.status}</Pill>
)

const COLUMNS: readonly Column<WebhookDelivery>[] = [
  { id: 'event', header: 'Event', grow: true, cell: ({ event_type: type }) => type },
  {
    id: 'seq',
    header: 'Entry',
    numeric: true,
    cell: ({ seq }) =>
      seq === null ? (
        '–'
      ) : (
        <Link to="/log/$seq" params={{ seq: String(seq) }} search={{}}>
          {seq}
        </Link>
      ),
  },
  { id: 'kind', header: 'Why', cell: ({ kind }) => (kind === 'log' ? 'new entry' : kind) },
  { id: 'status', header: 'State', cell: (row) => <DeliveryPill delivery={row} /> },
  { id: 'attempts', header: 'Attempts', numeric: true, cell: ({ attempts }) => attempts },
  {
    id: 'answer',
    header: 'Answer',
    cell: ({ response_code: code, error }) => (error ? inWords(error) : (code ?? '–')),
  },
  { id: 'created', header: 'Created (UTC)', cell: ({ created_at }) => <Time value={created_at} /> },
  {
    id: 'next',
    header: 'Next attempt',
    optional: true,
    cell: (row) => <Time value={row.next_attempt_at} relative />,
  },
  { id: 'retry', header: '', cell: (row) => <Retry delivery={row} /> },
]

function Deliveries({ webhookId }: { readonly webhookId: string }) {
  const [status, setStatus] = useUrlState('status')
  const known = STATES.find((one) => one === status)
  const query: WebhooksDeliveriesQuery = { ...usePage(), ...(known ? { status: known } : {}) }
  const list = useList(webhooksDeliveries, [webhookId, query], ({ deliveries }) => deliveries, {
    // Polled, because the outcome of a delivery is not in the audit log.
    refetchMs: REFETCH_MS,
  })
  return (
    <Table
      label="Deliveries"
      list={list}
      columns={COLUMNS}
      rowId={({ delivery_id }) => delivery_id}
      filters={
        <Form inline label="Filters" onSubmit={() => undefined}>
          <SelectField
            label="State"
            value={known ?? ''}
            options={[['', 'All'], ...STATES.map((one) => [one, one] as const)]}
            onChange={setStatus}
          />
        </Form>
      }
      empty={
        <EmptyState title="No deliveries">
          <p>The next entry that matches the events of the endpoint is sent.</p>
        </EmptyState>
      }
    />
  )
}

function Retry({ delivery }: { readonly delivery: WebhookDelivery }) {
  const retry = useAction(webhooksRetry)
  const { webhook_id: webhook, delivery_id: id, seq, status } = delivery
  if (seq === null || status === 'pending') return null
  return (
    <>
      <Button
        busy={retry.isPending}
        aria-label={`Send again ${id}`}
        onClick={() => retry.mutate([webhook, id])}
      >
        Send again
      </Button>
      {retry.error && <ErrorState error={retry.error} />}
    </>
  )
}
