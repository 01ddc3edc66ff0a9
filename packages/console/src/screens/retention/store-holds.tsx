// The legal holds of one store: those in force and released ones, and forms to place and release.

import { retentionHolds, retentionPlaceHold, retentionReleaseHold } from '@custos/client/operations'
import type { Hold } from '@custos/client/types'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useAction, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { Pill } from '../../parts/display.tsx'
import { Form, TextArea, TextField } from '../../parts/form.tsx'
import { Section } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'

const COLUMNS: readonly Column<Hold>[] = [
  {
    id: 'reason',
    header: 'Reason',
    grow: true,
    cell: ({ reason, matter }) => (
      <>
        {reason}
        {matter !== null && ` (${matter})`}
      </>
    ),
  },
  {
    id: 'state',
    header: 'State',
    cell: ({ standing, released_at }) =>
      standing ? (
        <Pill tone="warn">in force</Pill>
      ) : (
        <Pill>{released_at ? 'released' : 'ended'}</Pill>
      ),
  },
  { id: 'placed', header: 'Placed (UTC)', cell: ({ placed_at }) => <Time value={placed_at} /> },
  {
    id: 'until',
    header: 'Until (UTC)',
    cell: ({ until }) => <Time value={until} none="no end" />,
  },
  {
    id: 'released',
    header: 'Released (UTC)',
    optional: true,
    cell: ({ released_at }) => <Time value={released_at} />,
  },
  { id: 'act', header: 'End', cell: (hold) => <ReleaseButton hold={hold} /> },
]

export function StoreHolds({ storeId, name }: { readonly storeId: string; readonly name: string }) {
  const { can } = useSession()
  const [placing, setPlacing] = useState(false)
  const list = useList(retentionHolds, [storeId, usePage('holds')], ({ holds }) => holds)
  return (
    <Section
      title={`Legal holds of ${name}`}
      actions={
        can('compliance:admin') && (
          <Button icon={Plus} onClick={() => setPlacing(true)}>
            Place a hold
          </Button>
        )
      }
    >
      <Table
        name="holds"
        label="Legal holds"
        list={list}
        columns={COLUMNS}
        rowId={({ hold_id }) => hold_id}
        empty={
          <EmptyState title="No legal holds">
            <p>Place one when memories must be preserved for a legal matter.</p>
          </EmptyState>
        }
      />
      <Dialog title="Place a legal hold" open={placing} onClose={() => setPlacing(false)}>
        <PlaceForm storeId={storeId} name={name} done={() => setPlacing(false)} />
      </Dialog>
    </Section>
  )
}

function PlaceForm(props: {
  readonly storeId: string
  readonly name: string
  readonly done: () => void
}) {
  const { storeId, name, done } = props
  const [reason, setReason] = useState('')
  const [matter, setMatter] = useState('')
  const [until, setUntil] = useState('')
  const place = useAction(retentionPlaceHold)
  const submit = async () => {
    const body = {
      reason,
      matter: matter === '' ? null : matter,
      until: until === '' ? null : `${until}T00:00:00Z`,
    }
    await place.mutateAsync([storeId, body])
    done()
  }
  return (
    // The refusal is shown below; there is nothing else to do about it.
    <Form onSubmit={() => submit().catch(() => undefined)}>
      <p>Nothing in {name} can be erased while the hold is in force. Writing continues.</p>
      <TextArea label="Reason" required maxLength={2_000} value={reason} onChange={setReason} />
      <TextField label="Legal matter" maxLength={256} value={matter} onChange={setMatter} />
      <TextField
        label="Ends on (UTC)"
        hint="Empty: until it is released"
        type="date"
        value={until}
        onChange={setUntil}
      />
      {place.error && <ErrorState error={place.error} />}
      <Button type="submit" kind="primary" busy={place.isPending}>
        Place the hold
      </Button>
    </Form>
  )
}

function ReleaseButton({ hold }: { readonly hold: Hold }) {
  const { can } = useSession()
  const [open, setOpen] = useState(false)
  const [reason, setReason] = useState('')
  const release = useAction(retentionReleaseHold)
  if (!hold.standing || !can('compliance:admin')) return '–'
  return (
    <>
      <Button onClick={() => setOpen(true)}>Release</Button>
      <ConfirmDialog
        title="Release this hold"
        open={open}
        onClose={() => setOpen(false)}
        verb="Release"
        typed="release"
        act={() =>
          release.mutateAsync([
            hold.store_id,
            hold.hold_id,
            { reason: reason === '' ? null : reason },
          ])
        }
      >
        <p>Erasures and the retention of the store go on at once.</p>
        <TextField label="Reason" maxLength={2_000} value={reason} onChange={setReason} />
      </ConfirmDialog>
    </>
  )
}
