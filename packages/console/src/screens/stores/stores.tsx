// The screen that lists the tenant's stores and creates a store.

import { memoryCreateStore, memoryListStores } from '@custos/client/operations'
import type { Store } from '@custos/client/types'
import { Link, useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useAction, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Form, TextField } from '../../parts/form.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'

const COLUMNS: readonly Column<Store>[] = [
  {
    id: 'store',
    header: 'Store',
    grow: true,
    cell: ({ store_id, name }) => (
      <Link to="/stores/$storeId" params={{ storeId: store_id }} search={{}}>
        {name ?? store_id}
      </Link>
    ),
  },
  { id: 'id', header: 'Id', cell: ({ store_id }) => <code>{store_id}</code> },
  { id: 'state', header: 'State', cell: ({ state }) => state },
  { id: 'embedder', header: 'Embedder', cell: ({ embedder }) => embedder },
  {
    id: 'languages',
    header: 'Languages',
    optional: true,
    cell: ({ languages }) => String(languages),
  },
  {
    id: 'capabilities',
    header: 'Capabilities',
    optional: true,
    cell: ({ capabilities }) => capabilities.join(', '),
  },
  { id: 'created', header: 'Created (UTC)', cell: ({ created_at }) => <Time value={created_at} /> },
]

export function Stores() {
  const { can } = useSession()
  const [creating, setCreating] = useState(false)
  const list = useList(memoryListStores, [usePage()], ({ stores }) => stores)
  const create = can('memory:admin') && (
    <Button icon={Plus} onClick={() => setCreating(true)}>
      New store
    </Button>
  )
  return (
    <>
      <PageHeader
        title="Stores"
        about="A store holds memories under one set of rules: tokenizer, embedder, languages."
        actions={create}
      />
      <Table
        label="Stores"
        list={list}
        columns={COLUMNS}
        rowId={({ store_id }) => store_id}
        rowLink={({ store_id }) => ({ to: '/stores/$storeId', params: { storeId: store_id } })}
        empty={
          <EmptyState title="No stores yet">
            <p>The store “default” appears with its first memory.</p>
            {create}
          </EmptyState>
        }
      />
      <Dialog title="New store" open={creating} onClose={() => setCreating(false)}>
        <CreateStore />
      </Dialog>
    </>
  )
}

function CreateStore() {
  const [name, setName] = useState('')
  const navigate = useNavigate()
  const create = useAction(memoryCreateStore)
  const submit = async () => {
    const { store_id } = await create.mutateAsync([{ name }])
    await navigate({ to: '/stores/$storeId', params: { storeId: store_id }, search: {} })
  }
  return (
    // The refusal is shown below; there is nothing else to do about it.
    <Form onSubmit={() => submit().catch(() => undefined)}>
      <TextField label="Name" required maxLength={256} value={name} onChange={setName} />
      {create.error && <ErrorState error={create.error} />}
      <Button type="submit" kind="primary" busy={create.isPending}>
        Create store
      </Button>
    </Form>
  )
}
