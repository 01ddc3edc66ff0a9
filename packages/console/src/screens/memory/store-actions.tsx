// Actions on one store: write, import, export, switch the embedder.

import { call } from '@custos/client/core'
import { memoryExport, memoryImport, memoryReembed, memoryWrite } from '@custos/client/operations'
import type { Embedder } from '@custos/client/types'
import { Download, Plus, RefreshCw, Upload } from 'lucide-react'
import { useState } from 'react'
import { client } from '../../api/connection.ts'
import { useSession } from '../../api/session.tsx'
import { useAction } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { saveLines } from '../../parts/download.ts'
import { Form, SelectField, TextArea, TextField } from '../../parts/form.tsx'
import { ErrorState } from '../../parts/states.tsx'

interface OfStore {
  readonly storeId: string
}

/** Ignores the error of an action, because the screen shows it. */
const shown = (act: Promise<unknown>): Promise<void> =>
  act.then(
    () => undefined,
    () => undefined,
  )

export function StoreActions({ storeId }: OfStore) {
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

export function WriteButton({ storeId }: OfStore) {
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

function WriteForm({ storeId, done }: OfStore & { readonly done: () => void }) {
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

function ImportForm({ storeId }: OfStore) {
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

function EmbedderForm({ storeId }: OfStore) {
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
