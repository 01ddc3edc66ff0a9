// How long each store keeps its memories, what the next run erases, and the legal holds.

import { memoryListStores, retentionGet } from '@custos/client/operations'
import type { Store } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { useSession } from '../../api/session.tsx'
import { useUrlState } from '../../api/url-state.ts'
import { useCall } from '../../api/use-call.ts'
import { useList, usePage } from '../../api/use-list.ts'
import { formatNumber, Pill } from '../../parts/display.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { EmptyState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { StoreHolds } from './store-holds.tsx'
import { StoreRetention } from './store-retention.tsx'

const StoreLink = ({ store_id: store, name }: Pick<Store, 'store_id' | 'name'>) => (
  <Link to="/retention" search={(now: object) => ({ ...now, store, holdscursor: undefined })}>
    {name ?? store}
  </Link>
)

/** The cells of one row share one read. */
function RetentionCell({
  storeId,
  show,
}: {
  readonly storeId: string
  readonly show: 'days' | 'due' | 'holds'
}) {
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
