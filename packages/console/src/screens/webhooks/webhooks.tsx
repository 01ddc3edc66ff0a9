// Webhooks: endpoints that entries of the audit log are sent to.

import { webhooksList } from '@custos/client/operations'
import type { Webhook } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { formatNumber, inWords, Pill } from '../../parts/display.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { EmptyState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { NewWebhook } from './webhook-form.tsx'

const TONES = { active: 'good', failing: 'bad', disabled: 'plain' } as const

export const WebhookPill = ({ state, disabled_reason: reason }: Webhook) => (
  <Pill tone={TONES[state]}>
    {state}
    {reason && `: ${inWords(reason)}`}
  </Pill>
)

const linkOf = ({ webhook_id: webhookId }: Webhook) => ({
  to: '/webhooks/$webhookId',
  params: { webhookId },
})

const COLUMNS: readonly Column<Webhook>[] = [
  {
    id: 'url',
    header: 'Endpoint',
    grow: true,
    cell: (row) => (
      <>
        <Link {...linkOf(row)} search={{}}>
          {row.url || 'erased'}
        </Link>{' '}
        {row.description}
      </>
    ),
  },
  {
    id: 'events',
    header: 'Events',
    cell: ({ events }) => (events.includes('*') ? 'every entry' : events.join(', ')),
  },
  { id: 'state', header: 'State', cell: (row) => <WebhookPill {...row} /> },
  { id: 'lag', header: 'Behind', numeric: true, cell: ({ lag }) => formatNumber(lag) },
  {
    id: 'success',
    header: 'Last success',
    cell: (row) => <Time value={row.last_success_at} relative none="never" />,
  },
  { id: 'signature', header: 'Signature', optional: true, cell: ({ signature }) => signature },
  {
    id: 'created',
    header: 'Created (UTC)',
    optional: true,
    cell: ({ created_at }) => <Time value={created_at} />,
  },
]

export function Webhooks() {
  const [creating, setCreating] = useState(false)
  const list = useList(webhooksList, [usePage()], ({ webhooks }) => webhooks)
  return (
    <>
      <PageHeader
        title="Webhooks"
        about="Entries of the audit log, sent to your endpoints as they are appended, signed."
        actions={
          <Button kind="primary" icon={Plus} onClick={() => setCreating(true)}>
            New endpoint
          </Button>
        }
      />
      <Table
        label="Endpoints"
        list={list}
        columns={COLUMNS}
        rowId={({ webhook_id }) => webhook_id}
        rowLink={linkOf}
        empty={
          <EmptyState title="No endpoints yet">
            <p>An endpoint is told of what happens; a delivery holds ids and digests only.</p>
          </EmptyState>
        }
      />
      <Dialog title="New endpoint" open={creating} onClose={() => setCreating(false)}>
        <NewWebhook />
      </Dialog>
    </>
  )
}
