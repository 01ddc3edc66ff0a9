// How long each store keeps its memories, what the next run erases, and the legal holds.

import {
  memoryListStores,
  retentionGet,
  retentionRun,
  retentionSet,
} from '@custos/client/operations'
import type { Retention as RetentionState, Store } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useUrlState } from '../../api/url-state.ts'
import { useAction, useCall, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { Facts, formatNumber, Meter, Pill } from '../../parts/display.tsx'
import { TextField } from '../../parts/form.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { RequestMenu } from '../../parts/request-menu.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { StoreHolds } from './store-holds.tsx'

const StoreLink = ({ store_id: store, name }: Pick<Store, 'store_id' | 'name'>) => (
  <Link to="/retention" search={(now: object) => ({ ...now, store, holdscursor: undefined })}>
    {name ?? store}
  </Link>
)

/** One cell of a store. All cells of a row use the same cached request. */
function RetentionCell(props: {
  readonly storeId: string
  readonly show: 'days' | 'due' | 'holds'
}) {
  const { storeId, show } = props
  const { data } = useCall(retentionGet, [storeId])
  if (!data) return '…'
  if (show === 'days')
    return data.retain_days === null ? 'no limit' : `${formatNumber(data.retain_days)} days`
  if (show === 'due') return formatNumber(data.due + data.expired)
  return data.holds === 0 ? '–' : <Pill tone="warn">{data.holds} in force</Pill>
}

const COLUMNS: readonly Column<Store>[] = [
  { id: 'store', header: 'Store', grow: true, cell: (store) => <StoreLink {...store} /> },
  {
    id: 'days',
    header: 'Keeps for',
    cell: ({ store_id }) => <RetentionCell storeId={store_id} show="days" />,
  },
  {
    id: 'due',
    header: 'Due for erasure',
    numeric: true,
    cell: ({ store_id }) => <RetentionCell storeId={store_id} show="due" />,
  },
  {
    id: 'holds',
    header: 'Legal holds',
    cell: ({ store_id }) => <RetentionCell storeId={store_id} show="holds" />,
  },
]

export function Retention() {
  const { can } = useSession()
  const [storeId] = useUrlState('store')
  const list = useList(memoryListStores, [usePage()], ({ stores }) => stores)
  const name = list.rows?.find(({ store_id }) => store_id === storeId)?.name ?? storeId
  return (
    <>
      <PageHeader
        title="Retention & holds"
        about="A store may erase old memories by itself. A legal hold stops every erasure."
      />
      {storeId !== '' && (
        <>
          <StoreRetention key={`r ${storeId}`} storeId={storeId} name={name} />
          {can('compliance:read') && (
            <StoreHolds key={`h ${storeId}`} storeId={storeId} name={name} />
          )}
        </>
      )}
      <Table
        label="Stores"
        list={list}
        columns={COLUMNS}
        rowId={({ store_id }) => store_id}
        empty={
          <EmptyState title="No stores yet">
            <p>The store “default” appears with its first memory.</p>
          </EmptyState>
        }
      />
    </>
  )
}

const DAYS_MAX = 36_500

function StoreRetention({ storeId, name }: { readonly storeId: string; readonly name: string }) {
  const { can } = useSession()
  const { data, error, request } = useCall(retentionGet, [storeId])
  return (
    <Section
      title={`Retention of ${name}`}
      actions={
        <>
          {data && can('memory:admin') && <RetentionActions retention={data} />}
          <RequestMenu request={request} />
        </>
      }
    >
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && <RetentionFacts retention={data} />}
      {data?.run && <Meter label="Erased in this run" value={data.run.erased} max={data.run.due} />}
    </Section>
  )
}

const nextRun = ({ retain_days: days, holds }: RetentionState): string => {
  if (days === null) return 'none: there is no limit'
  return holds > 0 ? 'none while a hold is in force' : 'within the hour, when something is due'
}

function RetentionFacts({ retention }: { readonly retention: RetentionState }) {
  const { retain_days: days, last_run: last } = retention
  return (
    <Facts
      of={[
        ['Keeps memories for', days === null ? 'no limit' : `${formatNumber(days)} days`],
        ['Why', retention.basis],
        ['Older than that now', days !== null && formatNumber(retention.due)],
        ['Past an expiry of their own', formatNumber(retention.expired)],
        ['Next run', nextRun(retention)],
        [
          'Last run',
          last && (
            <>
              <Time value={last.ended_at} />, {formatNumber(last.erased)} erased
            </>
          ),
        ],
        ['Set', retention.set_at && <Time key="t" value={retention.set_at} />],
      ]}
    />
  )
}

function RetentionActions({ retention }: { readonly retention: RetentionState }) {
  const { store_id: storeId, retain_days: days, due, holds } = retention
  const [open, setOpen] = useState<'set' | 'run' | null>(null)
  const run = useAction(retentionRun)
  const close = () => setOpen(null)
  return (
    <>
      <Button onClick={() => setOpen('set')}>Change the period</Button>
      {days !== null && holds === 0 && due > 0 && (
        <Button kind="danger" onClick={() => setOpen('run')}>
          Erase what is due
        </Button>
      )}
      <PeriodDialog
        key={`${days} ${retention.basis}`}
        retention={retention}
        open={open === 'set'}
        onClose={close}
      />
      <ConfirmDialog
        title="Erase what is due"
        open={open === 'run'}
        onClose={close}
        verb="Erase"
        typed={String(due)}
        act={() => run.mutateAsync([storeId])}
      >
        <p>
          Erases {formatNumber(due)} memories of this store, each with a certificate. This cannot be
          undone.
        </p>
      </ConfirmDialog>
    </>
  )
}

function PeriodDialog(props: {
  readonly retention: RetentionState
  readonly open: boolean
  readonly onClose: () => void
}) {
  const { retention, open, onClose } = props
  const [days, setDays] = useState(retention.retain_days?.toString() ?? '')
  const [basis, setBasis] = useState(retention.basis ?? '')
  const set = useAction(retentionSet)
  const act = () =>
    set.mutateAsync([
      retention.store_id,
      { retain_days: days === '' ? null : Number(days), basis: basis === '' ? null : basis },
    ])
  return (
    <ConfirmDialog
      title="Change the period"
      open={open}
      onClose={onClose}
      verb={days === '' ? 'Keep without limit' : `Keep for ${days} days`}
      act={act}
    >
      <p>
        Older memories are erased within the hour, by themselves, each with a certificate. This
        cannot be undone.
      </p>
      <TextField
        label="Days to keep a memory"
        hint="Counted from when it was written. Empty: no limit"
        type="number"
        min={1}
        max={DAYS_MAX}
        value={days}
        onChange={setDays}
      />
      <TextField label="Why this long" maxLength={2_000} value={basis} onChange={setBasis} />
    </ConfirmDialog>
  )
}
