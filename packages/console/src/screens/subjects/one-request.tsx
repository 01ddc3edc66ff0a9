// One request of a data subject: its due date, its progress, and the signed proof when it is done.

import type { Lines } from '@custos/client'
import { call, type Operation, type Pending } from '@custos/client/core'
import {
  gcrumbsPublicKey,
  subjectsExtend,
  subjectsGet,
  subjectsManifest,
} from '@custos/client/operations'
import type { SubjectRequest, SubjectsManifestReply } from '@custos/client/types'
import { Link, useParams } from '@tanstack/react-router'
import { ShieldCheck } from 'lucide-react'
import { type ComponentProps, useState } from 'react'
import { client } from '../../api/connection.ts'
import { useUrlState } from '../../api/url-state.ts'
import { type ListResult, useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Id } from '../../parts/code.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Facts, Figure, Figures, inWords, Meter, Pill } from '../../parts/display.tsx'
import { Form, TextArea } from '../../parts/form.tsx'
import { VerdictView } from '../../parts/json-view.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { fileOf, SaveButton } from '../../parts/save-button.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { DuePill, isDone, KINDS, StatusPill } from './request-pills.tsx'
import css from './subjects.module.css'

const POLL_MS = 1_000
const PAGE_ROWS = 50

export function OneSubjectRequest() {
  const id = String(useParams({ strict: false })['requestId'])
  const { data, error, request } = useCall(subjectsGet, [id])
  return (
    <>
      <PageHeader
        title={data ? `${KINDS[data.kind]} request` : 'Subject request'}
        about={<Id value={id} />}
        actions={data && !isDone(data) && !data.extended_at && <ExtendButton request={data} />}
        request={request}
      />
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && <RequestBody request={data} />}
    </>
  )
}

function RequestBody({ request }: { readonly request: SubjectRequest }) {
  const { found } = request
  return (
    <>
      <p className={css['state']}>
        <StatusPill request={request} /> <DuePill request={request} />
      </p>
      {!isDone(request) && <Progress id={request.request_id} />}
      <Figures>
        <Figure label="Memories, all versions" value={found.facts} />
        <Figure label="Decisions that used them" value={found.decisions_using} />
        <Figure label="Decisions that name the person" value={found.decisions_naming} />
        <Figure label="Other records" value={found.texts} />
      </Figures>
      <Section title="Dates">
        <Facts
          of={[
            ['Received', <Time key="t" value={request.received_at} />],
            ['Due', <Time key="t" value={request.due_at} />],
            ['Extended', request.extended_at && <Time key="t" value={request.extended_at} />],
            ['Started', request.started_at && <Time key="t" value={request.started_at} />],
            ['Completed', request.completed_at && <Time key="t" value={request.completed_at} />],
            ['Asked with credential', <Id key="i" value={request.requested_with} />],
            ['On hold when found', found.held > 0 && found.held],
          ]}
        />
      </Section>
      {isDone(request) && request.kind === 'erase' && <Manifest id={request.request_id} />}
    </>
  )
}

/** Reads the request again until it is done. */
function Progress({ id }: { readonly id: string }) {
  const { data } = useCall(subjectsGet, [id], { refetchMs: POLL_MS })
  if (!data) return null
  const { done, total } = data.progress
  return (
    <div className={css['progress']} role="status">
      <Meter label="Items with an outcome" value={done} max={total} />
    </div>
  )
}

function ExtendButton({ request }: { readonly request: SubjectRequest }) {
  const [open, setOpen] = useState(false)
  const [reason, setReason] = useState('')
  const extend = useAction(subjectsExtend)
  const submit = async () => {
    await extend.mutateAsync([request.request_id, { reason }])
    setOpen(false)
  }
  return (
    <>
      <Button onClick={() => setOpen(true)}>Extend the due date</Button>
      <Dialog title="Extend by two months" open={open} onClose={() => setOpen(false)}>
        {/* The refusal is shown below; there is nothing else to do about it. */}
        <Form onSubmit={() => submit().catch(() => undefined)}>
          <p>Once only, for a complex request. Tell the person the reason.</p>
          <TextArea label="Reason" required maxLength={2_000} value={reason} onChange={setReason} />
          {extend.error && <ErrorState error={extend.error} />}
          <Button type="submit" kind="primary" busy={extend.isPending}>
            Extend
          </Button>
        </Form>
      </Dialog>
    </>
  )
}

type ManifestItem = SubjectsManifestReply['entries'][number]

// Without a format the operation answers with the signed manifest.
const readManifest = subjectsManifest as unknown as Operation<
  [requestId: string],
  Pending<SubjectsManifestReply>
>

function Manifest({ id }: { readonly id: string }) {
  const { data, error, request, isFetching } = useCall(readManifest, [id])
  const [cursor] = useUrlState('cursor')
  if (error) return <ErrorState error={error} />
  if (!data) return <LoadingState />
  const from = Number(cursor) || 0
  const next = from + PAGE_ROWS
  const list: ListResult<ManifestItem> = {
    rows: data.entries.slice(from, next),
    nextCursor: next < data.entries.length ? String(next) : null,
    error,
    isFetching,
    request,
  }
  return (
    <>
      <Section
        title="Proof"
        about="A signed manifest lists every item. Send the confirmation; keep the manifest."
      >
        <div className={css['buttons']}>
          <SaveButton
            label="Confirmation as PDF"
            kind="primary"
            load={async () =>
              fileOf(
                await call(client, subjectsManifest, id, { format: 'pdf' }),
                `erasure-${id}.pdf`,
              )
            }
          />
          <SaveButton label="Manifest with certificates" load={() => saveBundle(id)} />
        </div>
        <VerifyBundle id={id} />
      </Section>
      <Section title="Items" about={data.searched_again ? foundLater(data.found_later) : undefined}>
        <Table
          label="Items of the manifest"
          list={list}
          columns={COLUMNS}
          rowId={(entry) => entry.certificate_id ?? itemName(entry)}
          empty={
            <EmptyState title="Nothing was found">
              <p>The manifest says so, with a signature.</p>
            </EmptyState>
          }
        />
      </Section>
    </>
  )
}

const foundLater = (many: number): string =>
  many === 0
    ? 'Searched again at the end: nothing was written meanwhile.'
    : `Searched again at the end: ${many} more were written meanwhile and erased too.`

/** The manifest and each certificate that it lists. */
async function readBundle(id: string): Promise<unknown[]> {
  // The format of the query decides what the operation returns.
  const lines = call(client, subjectsManifest, id, { format: 'bundle' }) as Lines<unknown>
  const all: unknown[] = []
  for await (const line of lines) all.push(line)
  return all
}

async function saveBundle(id: string) {
  const lines = (await readBundle(id)).map((line) => `${JSON.stringify(line)}\n`)
  return {
    blob: new Blob(lines, { type: 'application/x-ndjson' }),
    filename: `erasure-${id}.ndjson`,
  }
}

function VerifyBundle({ id }: { readonly id: string }) {
  const [verdict, setVerdict] = useState<ComponentProps<typeof VerdictView>['verdict'] | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const run = async () => {
    setBusy(true)
    setError(null)
    try {
      const [{ verify }, keys, lines] = await Promise.all([
        import('@custos/client/verify'),
        call(client, gcrumbsPublicKey),
        readBundle(id),
      ])
      setVerdict(await verify(lines, { keys }))
    } catch (caught) {
      setError(caught)
    }
    setBusy(false)
  }
  return (
    <div className={css['verify']}>
      <Button icon={ShieldCheck} busy={busy} onClick={() => void run()}>
        Verify with all certificates
      </Button>
      {error !== null && <ErrorState error={error} />}
      {verdict && <VerdictView verdict={verdict} />}
    </div>
  )
}

function itemName(entry: ManifestItem): string {
  if (entry.fact_ref !== undefined) return `Memory ${entry.fact_ref}`
  if (entry.decision_id !== undefined) return `Decision ${entry.decision_id}`
  return `${inWords(entry.subject_kind ?? 'record')} ${entry.subject_id ?? ''}`
}

const OUTCOMES = {
  erased: ['good', 'erased'],
  held: ['warn', 'kept: on hold'],
  absent: ['plain', 'was gone already'],
} as const

const COLUMNS: readonly Column<ManifestItem>[] = [
  { id: 'item', header: 'Item', grow: true, cell: (entry) => itemName(entry) },
  {
    id: 'outcome',
    header: 'Outcome',
    cell: ({ outcome }) => <Pill tone={OUTCOMES[outcome][0]}>{OUTCOMES[outcome][1]}</Pill>,
  },
  {
    id: 'certificate',
    header: 'Certificate',
    cell: ({ certificate_id: certificateId }) =>
      certificateId === null ? (
        '–'
      ) : (
        <Link to="/erasure/$certificateId" params={{ certificateId }} search={{}}>
          {certificateId}
        </Link>
      ),
  },
]
