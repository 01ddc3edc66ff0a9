// One store: search with a budget, and the newest memories before the first search.

import { memoryGetStore, memoryMemories } from '@custos/client/operations'
import type { Memory } from '@custos/client/types'
import { Link, useParams } from '@tanstack/react-router'
import { useUrlState } from '../../api/url-state.ts'
import { useCall } from '../../api/use-call.ts'
import { useList, usePage } from '../../api/use-list.ts'
import { counted, Pill } from '../../parts/display.tsx'
import { Form, TextField } from '../../parts/form.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { MemorySearch, SearchForm } from './memory-search.tsx'
import { StoreActions, WriteButton } from './store-actions.tsx'

const columnsOf = (storeId: string): readonly Column<Memory>[] => [
  {
    id: 'ref',
    header: 'Ref',
    numeric: true,
    cell: ({ ref }) => (
      <Link to="/stores/$storeId/memories/$ref" params={{ storeId, ref: String(ref) }} search={{}}>
        {ref}
      </Link>
    ),
  },
  { id: 'content', header: 'Content', grow: true, cell: ({ content }) => content },
  { id: 'state', header: 'State', cell: (memory) => <MemoryState memory={memory} /> },
  { id: 'tokens', header: 'Tokens', numeric: true, cell: ({ token_count }) => token_count },
  { id: 'namespace', header: 'Namespace', optional: true, cell: ({ tenant_id }) => tenant_id },
  {
    id: 'valid',
    header: 'Valid from (UTC)',
    optional: true,
    cell: ({ valid_from }) => <Time value={valid_from} />,
  },
  {
    id: 'principal',
    header: 'Written by',
    optional: true,
    cell: ({ source }) => <code>{source.principal}</code>,
  },
  {
    id: 'written',
    header: 'Written (UTC)',
    cell: ({ written_at }) => <Time value={written_at} />,
  },
]

const MemoryState = ({ memory }: { readonly memory: Memory }) =>
  memory.superseded_by === null ? (
    <Pill tone="good">current</Pill>
  ) : (
    <Pill>replaced by {memory.superseded_by}</Pill>
  )

export function MemoryScreen() {
  const { storeId } = useParams({ strict: false })
  const id = String(storeId)
  const [query] = useUrlState('q')
  const { data, error, request } = useCall(memoryGetStore, [id])
  return (
    <>
      <PageHeader
        title={data?.name ?? id}
        about={data && <StoreLine store={data} />}
        actions={<StoreActions storeId={id} />}
        request={request}
      />
      {error && <ErrorState error={error} />}
      <SearchForm key={id} />
      {query === '' ? <NewestMemories storeId={id} /> : <MemorySearch storeId={id} />}
    </>
  )
}

function StoreLine({ store }: { store: { facts: number; embedder: string; tokenizer: string } }) {
  return (
    <>
      {counted(store.facts, 'memory', 'memories')} · embedder {store.embedder} · tokens by{' '}
      {store.tokenizer}
    </>
  )
}

function NewestMemories({ storeId }: { readonly storeId: string }) {
  const [namespace, setNamespace] = useUrlState('namespace')
  const filter = namespace === '' ? {} : { namespace }
  const list = useList(
    memoryMemories,
    [storeId, { ...usePage(), order: 'newest', ...filter }],
    ({ memories }) => memories,
  )
  return (
    <Table
      label="Newest memories"
      list={list}
      columns={columnsOf(storeId)}
      rowId={({ ref }) => String(ref)}
      rowLink={({ ref }) => ({
        to: '/stores/$storeId/memories/$ref',
        params: { storeId, ref: String(ref) },
      })}
      signed
      filters={
        <Form inline label="Filters" onSubmit={() => undefined}>
          <TextField label="Namespace" value={namespace} onChange={setNamespace} />
        </Form>
      }
      empty={
        <EmptyState title={namespace === '' ? 'No memories yet' : 'No memories in this namespace'}>
          <p>An agent writes them with its key; you can write one here to see how it is found.</p>
          <WriteButton storeId={storeId} />
        </EmptyState>
      }
    />
  )
}
