// The audit log: entries newest first and live, the signed checkpoints, and this browser's witness.

import type { Operation, Pending } from '@custos/client/core'
import { gcrumbsBreadcrumbs, gcrumbsEpochs, gcrumbsStats } from '@custos/client/operations'
import type { Breadcrumb, Epoch } from '@custos/client/types'
import { Link, useNavigate } from '@tanstack/react-router'
import { Download } from 'lucide-react'
import { useState } from 'react'
import { useLive } from '../../api/live.tsx'
import { useUrlState } from '../../api/url-state.ts'
import { type ListResult, useCall } from '../../api/use-call.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Id } from '../../parts/code.tsx'
import { formatNumber, Pill } from '../../parts/display.tsx'
import { Form, TextField } from '../../parts/form.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { saveBlob } from '../../parts/save-button.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import css from './log.module.css'
import { RollButton } from './one-entry.tsx'
import { SeenSection } from './seen.tsx'

const COLUMNS: readonly Column<Breadcrumb>[] = [
  {
    id: 'seq',
    header: 'Entry',
    numeric: true,
    cell: ({ seq }) => (
      <Link to="/log/$seq" params={{ seq: String(seq) }} search={{}}>
        {formatNumber(seq)}
      </Link>
    ),
  },
  { id: 'time', header: 'Time (UTC)', cell: ({ created_at: at }) => <Time value={at} /> },
  {
    id: 'event',
    header: 'Event',
    cell: ({ event_type: type }) => <code className={css['event']}>{type}</code>,
  },
  { id: 'subject', header: 'Subject', grow: true, cell: ({ subject }) => subject },
  {
    id: 'id',
    header: 'Id (leaf hash)',
    cell: ({ breadcrumb_id: id }) => <Id value={id} copy={false} />,
  },
  {
    id: 'previous',
    header: 'Id of the entry before',
    optional: true,
    cell: ({ prev_id: id }) => <Id value={id} copy={false} />,
  },
]

const EPOCH_COLUMNS: readonly Column<Epoch>[] = [
  { id: 'number', header: 'Checkpoint', numeric: true, cell: ({ epoch_number: n }) => n },
  { id: 'signed', header: 'Signed (UTC)', cell: ({ created_at: at }) => <Time value={at} /> },
  {
    id: 'size',
    header: 'Entries',
    numeric: true,
    cell: ({ tree_size: size }) => formatNumber(size),
  },
  {
    id: 'added',
    header: 'Added',
    numeric: true,
    cell: ({ tree_size: size, consistency }) =>
      formatNumber(size - (consistency ? consistency.from_size : 0)),
  },
  {
    id: 'root',
    header: 'Merkle root',
    grow: true,
    cell: ({ root_hash: root }) => <Id value={root} copy={false} />,
  },
  {
    id: 'witnesses',
    header: 'Cosignatures',
    optional: true,
    cell: ({ cosignatures, witnessed }) =>
      witnessed === null
        ? '–'
        : `${cosignatures.length}, ${witnessed ? 'enough' : 'not enough yet'}`,
  },
  {
    id: 'timestamp',
    header: 'Timestamp',
    optional: true,
    cell: ({ timestamp }) => (timestamp === null ? '–' : <Time value={timestamp.stamped_at} />),
  },
  { id: 'origin', header: 'Name of the log', optional: true, cell: ({ origin }) => origin },
  { id: 'file', header: 'File', cell: (epoch) => <CheckpointFile {...epoch} /> },
]

function CheckpointFile({ checkpoint, cosignatures, epoch_number: n }: Epoch) {
  const lines = cosignatures.map(({ line }) => `${line}\n`)
  return (
    <IconButton
      label={`Download checkpoint ${n}`}
      icon={Download}
      onClick={() => saveBlob(new Blob([checkpoint, ...lines]), `checkpoint-${n}.txt`)}
    />
  )
}

export function AuditLog() {
  const { data, error } = useCall(gcrumbsStats, [], { keep: true })
  const total = data?.total_breadcrumbs
  const entries = useNewestFirst(gcrumbsBreadcrumbs, total, (reply) => reply.breadcrumbs)
  const epochs = useNewestFirst(
    gcrumbsEpochs,
    data?.total_epochs,
    (reply) => reply.epochs,
    'epochs-',
  )
  const signed = data?.last_epoch?.tree_size ?? 0
  return (
    <>
      <PageHeader
        title="Audit log"
        about={
          total !== undefined &&
          `${formatNumber(total)} ${total === 1 ? 'entry' : 'entries'}, ` +
            `${formatNumber(total - signed)} since the last checkpoint. Nothing is ever taken out.`
        }
        actions={<RollButton />}
      />
      {error && <ErrorState error={error} />}
      <SeenSection entries={entries.rows ?? []} />
      <Section title="Entries" about="Newest first" actions={<LivePill />}>
        <Table
          label="Entries of the audit log"
          list={entries}
          columns={COLUMNS}
          rowId={({ seq }) => String(seq)}
          rowLink={({ seq }) => ({ to: '/log/$seq', params: { seq: String(seq) } })}
          signed
          filters={<GoToEntry />}
          empty={
            <EmptyState title="No entries yet">
              <p>The first write, decision or policy makes one.</p>
            </EmptyState>
          }
        />
      </Section>
      <Section
        title="Checkpoints"
        about="Each is signed, and carries the proof that the one before is a part of it."
      >
        <Table
          label="Checkpoints"
          name="epochs-"
          list={epochs}
          columns={EPOCH_COLUMNS}
          rowId={({ epoch_number: n }) => String(n)}
          signed
          empty={<EmptyState title="No checkpoint yet" />}
        />
      </Section>
    </>
  )
}

function LivePill() {
  const { state } = useLive()
  return state === 'live' ? <Pill tone="good">live</Pill> : <Pill>not live</Pill>
}

function GoToEntry() {
  const navigate = useNavigate()
  const [seq, setSeq] = useState('')
  return (
    <Form
      inline
      label="Go to an entry"
      onSubmit={() => void navigate({ to: '/log/$seq', params: { seq }, search: {} })}
    >
      <TextField
        label="Entry number"
        inputMode="numeric"
        pattern="[0-9]+"
        required
        value={seq}
        onChange={setSeq}
      />
      <Button type="submit">Open</Button>
    </Form>
  )
}

const PAGE_ROWS = 50

/**
 * Reads the page that ends before the position of the address, newest first. The service lists from
 * the oldest on, without gaps: the page before a position is a range of positions.
 * @param total rows of the whole list; undefined while it is not known
 * @param name of the table in the address
 */
function useNewestFirst<R, Row>(
  operation: Operation<[query?: { readonly limit: number; readonly offset: number }], Pending<R>>,
  total: number | undefined,
  rows: (reply: R) => readonly Row[],
  name = '',
): ListResult<Row> {
  const [cursor] = useUrlState(`${name}cursor`)
  const end = Math.min(total ?? 0, cursor === '' ? Number.POSITIVE_INFINITY : Number(cursor) || 0)
  const offset = Math.max(0, end - PAGE_ROWS)
  const query = { offset, limit: Math.max(1, end - offset) }
  const { data, error, isFetching, request } = useCall(operation, [query], {
    keep: true,
    enabled: total !== undefined,
  })
  return {
    rows:
      data &&
      rows(data)
        .slice(0, end - offset)
        .toReversed(),
    nextCursor: offset > 0 ? String(offset) : null,
    error,
    isFetching,
    request,
  }
}
