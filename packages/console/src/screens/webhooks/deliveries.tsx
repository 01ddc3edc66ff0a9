// The deliveries of one endpoint, which can be retried.

import { webhooksDeliveries, webhooksRetry } from '@custos/client/operations'
import type { WebhookDelivery, WebhooksDeliveriesQuery } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { useUrlState } from '../../api/url-state.ts'
import { useAction } from '../../api/use-call.ts'
import { useList, usePage } from '../../api/use-list.ts'
import { Button } from '../../parts/button.tsx'
import { inWords, Pill } from '../../parts/display.tsx'
import { Form, SelectField } from '../../parts/form.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'

const TONES = { pending: 'plain', retrying: 'warn', delivered: 'good', failed: 'bad' } as const
const REFETCH_MS = 2_000
const STATES: readonly WebhookDelivery['status'][] = ['pending', 'retrying', 'delivered', 'failed']

export const DeliveryPill = ({ delivery }: { readonly delivery: WebhookDelivery }) => (
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

export function Deliveries({ webhookId }: { readonly webhookId: string }) {
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
