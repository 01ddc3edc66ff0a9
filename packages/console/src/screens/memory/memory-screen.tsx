// One store: search with a budget, what is newest before anything is searched, and acts on it:
// write, import, export, switch the embedder.

import { call } from '@custos/client/core'
import {
  memoryExport,
  memoryGetStore,
  memoryImport,
  memoryMemories,
  memoryReembed,
  memoryWrite,
} from '@custos/client/operations'
import type { Embedder, Memory } from '@custos/client/types'
import { Link, useParams } from '@tanstack/react-router'
import { Download, Plus, RefreshCw, Upload } from 'lucide-react'
import { useState } from 'react'
import { client } from '../../api/connection.ts'
import { useSession } from '../../api/session.tsx'
import { useUrlState } from '../../api/url-state.ts'
import { useAction, useCall, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { counted, Pill } from '../../parts/display.tsx'
import { Form, SelectField, TextArea, TextField } from '../../parts/form.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { saveLines } from '../../parts/save-button.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { MemorySearch, SearchForm } from './memory-search.tsx'

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

/** Ignores the error of an action, because the screen shows it. */
const shown = (act: Promise<unknown>): Promise<void> =>
  act.then(
    () => undefined,
    () => undefined,
  )

function StoreActions({ storeId }: { readonly storeId: string }) {
  const { can } = useSession()
  const [open, setOpen] = useState<'import' | 'embedder' | null>(null)
  const [error, setError] = useState<unknown>(null)
  const exportAll = () =>
    saveLines(call(client, memoryExport, storeId), `memories_${storeId}.ndjson`).catch(setError)
  return (
    <>
      <WriteButton storeId={storeId} />
      {can('memory:write') && (
        <Button icon={Upload} onClick={() => setOpen('import')}>
          Import
        </Button>
      )}
      <Button icon={Download} onClick={() => void exportAll()}>
        Export
      </Button>
      {can('memory:admin') && (
        <Button icon={RefreshCw} onClick={() => setOpen('embedder')}>
          Embedder
        </Button>
      )}
      {error !== null && <ErrorState error={error} />}
      <Dialog title="Import memories" open={open === 'import'} onClose={() => setOpen(null)}>
        <ImportForm storeId={storeId} />
      </Dialog>
      <Dialog title="Switch the embedder" open={open === 'embedder'} onClose={() => setOpen(null)}>
        <EmbedderForm storeId={storeId} />
      </Dialog>
    </>
  )
}

function WriteButton({ storeId }: { readonly storeId: string }) {
  const { can } = useSession()
  const [open, setOpen] = useState(false)
  if (!can('memory:write')) return null
  return (
    <>
      <Button kind="primary" icon={Plus} onClick={() => setOpen(true)}>
        Write a memory
      </Button>
      <Dialog title="Write a memory" open={open} onClose={() => setOpen(false)}>
        <WriteForm storeId={storeId} done={() => setOpen(false)} />
      </Dialog>
    </>
  )
}

function WriteForm({ storeId, done }: { readonly storeId: string; readonly done: () => void }) {
  const [content, setContent] = useState('')
  const [validFrom, setValidFrom] = useState('')
  const [namespace, setNamespace] = useState('')
  const write = useAction(memoryWrite)
  const submit = () =>
    write
      .mutateAsync([
        storeId,
        {
          content,
          valid_from: validFrom === '' ? null : `${validFrom}:00Z`,
          namespace: namespace === '' ? null : namespace,
        },
      ])
      .then(done)
  return (
    <Form onSubmit={() => shown(submit())}>
      <TextArea label="Content" required value={content} onChange={setContent} />
      <TextField
        label="Valid from (UTC)"
        hint="From when it is true; empty: from now on"
        type="datetime-local"
        value={validFrom}
        onChange={setValidFrom}
      />
      <TextField
        label="Namespace"
        hint="Empty: the root"
        value={namespace}
        onChange={setNamespace}
      />
      {write.error && <ErrorState error={write.error} />}
      <Button type="submit" kind="primary" busy={write.isPending} disabled={content === ''}>
        Write
      </Button>
    </Form>
  )
}

function ImportForm({ storeId }: { readonly storeId: string }) {
  const [file, setFile] = useState<File | null>(null)
  const run = useAction(memoryImport)
  const submit = async () => {
    if (file) await run.mutateAsync([storeId, file.stream()])
  }
  return (
    <Form onSubmit={() => shown(submit())}>
      <p>A file as “Export” writes it: one memory a line. All lines are imported, or none.</p>
      <label>
        File (NDJSON){' '}
        <input
          type="file"
          accept=".ndjson,.jsonl,application/x-ndjson"
          onChange={({ target }) => setFile(target.files?.[0] ?? null)}
        />
      </label>
      {run.error && <ErrorState error={run.error} />}
      {run.data && (
        <p role="status">
          {run.data.imported} imported, {run.data.duplicates} left out as duplicates.
        </p>
      )}
      <Button type="submit" kind="primary" busy={run.isPending} disabled={!file}>
        Import
      </Button>
    </Form>
  )
}

const EMBEDDERS: readonly (readonly [Embedder, string])[] = [
  ['static', 'static: bundled, no network'],
  ['http', 'http: the endpoint of the service'],
  ['onnx', 'onnx: a model on this machine'],
  ['none', 'none: words only'],
]

function EmbedderForm({ storeId }: { readonly storeId: string }) {
  const [embedder, setEmbedder] = useState<Embedder>('static')
  const run = useAction(memoryReembed)
  return (
    <Form onSubmit={() => shown(run.mutateAsync([storeId, { embedder }]))}>
      <p>Every memory of the store is embedded again, in the background.</p>
      <SelectField
        label="Embedder"
        value={embedder}
        options={EMBEDDERS}
        onChange={(value) => setEmbedder(EMBEDDERS.find(([one]) => one === value)?.[0] ?? 'static')}
      />
      {run.error && <ErrorState error={run.error} />}
      {run.data && (
        <p role="status">
          Job {run.data.job_id} embeds {run.data.missing} memories.
        </p>
      )}
      <Button type="submit" kind="primary" busy={run.isPending}>
        Embed again
      </Button>
    </Form>
  )
}
