// Guided erasure: find a memory, see its copies, give a reason, erase it, save the certificate.

import { call } from '@custos/client/core'
import {
  erasureIssue,
  memoryHistory,
  memoryListStores,
  memoryMemory,
  memoryRetrieve,
  retentionHolds,
  subjectsErase,
} from '@custos/client/operations'
import type { IssuedCertificate, Memory } from '@custos/client/types'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Search } from 'lucide-react'
import { useEffect, useState } from 'react'
import { preferences } from '../../ambient.ts'
import { client } from '../../api/connection.ts'
import { useSession } from '../../api/session.tsx'
import { useUrlChange, useUrlSearch } from '../../api/url-state.ts'
import { useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Id } from '../../parts/code.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/display.tsx'
import { Form, SelectField, TextField } from '../../parts/form.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { CertificateBody, CertificateFiles, useCertificate } from './certificate-view.tsx'
import css from './erasure.module.css'
import { type ErasureReason, FIRST_REASON, ReasonFields, Step, Steps } from './steps.tsx'

const STORES_MAX = 1_000
const SEARCH_TOKENS = 2_000
/** Length of the beginning of a memory's text that is searched for in decisions. */
const QUOTED_CHARS = 300

interface ChosenMemory {
  readonly storeId: string
  readonly ref: number
}

/** The chosen memory, which is in the address. The search text is not, as it may name a person. */
function useChosen(): [ChosenMemory | null, (chosen: ChosenMemory | null) => void] {
  const { store, ref } = useUrlSearch()
  const change = useUrlChange()
  const known = store !== undefined && ref !== undefined && /^\d{1,15}$/.test(ref)
  return [
    known ? { storeId: store, ref: Number(ref) } : null,
    (next) => change({ store: next?.storeId, ref: next ? String(next.ref) : undefined }),
  ]
}

export function EraseOne() {
  const [chosen, choose] = useChosen()
  const [reason, setReason] = useState<ErasureReason | null>(null)
  const [issued, setIssued] = useState<IssuedCertificate | null>(null)
  const [seen, setSeen] = useState(false)
  const queries = useQueryClient()
  useEffect(() => {
    // Refetched only now, when the memory is no longer shown: reading it would be refused.
    if (issued) void queries.invalidateQueries()
  }, [issued, queries])
  const restart = (next: ChosenMemory | null) => {
    setIssued(null)
    setReason(null)
    setSeen(false)
    choose(next)
  }
  const now = issued ? 5 : !chosen ? 1 : !seen ? 2 : !reason ? 3 : 4
  const stateOf = (step: number) => (step < now ? 'done' : step === now ? 'now' : 'later')
  return (
    <Steps label="Erase one memory">
      <Step
        title="Find the memory"
        state={stateOf(1)}
        summary={
          chosen && (
            <>
              Memory {chosen.ref} in store {chosen.storeId}{' '}
              <Button kind="quiet" onClick={() => restart(null)}>
                {issued ? 'Erase another' : 'Choose another'}
              </Button>
            </>
          )
        }
      >
        <FindMemory onFound={restart} />
      </Step>
      <Step title="See where it is" state={stateOf(2)} summary={null}>
        {chosen && <MemoryPreview {...chosen} onSeen={() => setSeen(true)} />}
      </Step>
      <Step title="Say why" state={stateOf(3)} summary={reason?.legal_basis}>
        <ReasonForm onReason={setReason} />
      </Step>
      <Step title="Erase it" state={stateOf(4)}>
        {chosen && reason && <EraseButton {...chosen} reason={reason} onErased={setIssued} />}
      </Step>
      <Step title="Take the certificate" state={stateOf(5)}>
        {issued && <IssuedView issued={issued} />}
      </Step>
    </Steps>
  )
}

function FindMemory({ onFound }: { readonly onFound: (chosen: ChosenMemory) => void }) {
  const { can, caller } = useSession()
  const reads = can('memory:read')
  const [storeId, setStoreId] = useState(
    () => caller.stores?.[0] ?? preferences.get('store') ?? 'default',
  )
  const [text, setText] = useState('')
  const [query, setQuery] = useState('')
  const { data } = useCall(memoryListStores, [{ limit: STORES_MAX }], { enabled: reads })
  const stores = data?.stores ?? []
  const options = stores.some((store) => store.store_id === storeId)
    ? stores.map((store) => [store.store_id, store.name ?? store.store_id] as const)
    : [
        [storeId, storeId] as const,
        ...stores.map((s) => [s.store_id, s.name ?? s.store_id] as const),
      ]
  const find = () => {
    const words = text.trim()
    if (/^\d{1,15}$/.test(words)) onFound({ storeId, ref: Number(words) })
    else if (reads) setQuery(words)
  }
  return (
    <>
      <Form inline label="Find" onSubmit={find}>
        <SelectField label="Store" value={storeId} onChange={setStoreId} options={options} />
        <div className={css['words']}>
          <TextField
            label={reads ? 'Words of the memory, or its number' : 'Number of the memory'}
            type="search"
            required
            maxLength={2_000}
            value={text}
            onChange={setText}
          />
        </div>
        <Button type="submit" kind="primary" icon={Search}>
          Find
        </Button>
      </Form>
      {query !== '' && <Hits storeId={storeId} query={query} onFound={onFound} />}
    </>
  )
}

function Hits(props: {
  readonly storeId: string
  readonly query: string
  readonly onFound: (chosen: ChosenMemory) => void
}) {
  const { storeId, query, onFound } = props
  const body = { query, budget_tokens: SEARCH_TOKENS }
  const { data, error } = useCall(memoryRetrieve, [storeId, body], { keep: true })
  if (error) return <ErrorState error={error} />
  if (!data) return <LoadingState />
  if (data.memories.length === 0)
    return (
      <EmptyState title="No memory found">
        <p>Try other words, another store, or the number of the memory.</p>
      </EmptyState>
    )
  return (
    <ol className={css['hits']} aria-label="Found memories">
      {data.memories.map(({ ref, content }) => (
        <li key={ref}>
          <p>{content}</p>
          <Button onClick={() => onFound({ storeId, ref })}>Choose memory {ref}</Button>
        </li>
      ))}
    </ol>
  )
}

function MemoryPreview({ storeId, ref, onSeen }: ChosenMemory & { readonly onSeen: () => void }) {
  const { can } = useSession()
  const reads = can('memory:read')
  const memory = useCall(memoryMemory, [storeId, ref], { enabled: reads })
  const holds = useCall(retentionHolds, [storeId, { standing: true, limit: 1 }], {
    enabled: can('compliance:read'),
  })
  const held = (holds.data?.holds.length ?? 0) > 0
  if (memory.error) return <ErrorState error={memory.error} />
  if (reads && !memory.data) return <LoadingState />
  return (
    <>
      {memory.data ? (
        <MemoryPlaces storeId={storeId} memory={memory.data} />
      ) : (
        <p>Your key may erase this memory, but not read it.</p>
      )}
      {held && (
        <p className={css['held']} role="alert">
          A legal hold protects this store: nothing in it can be erased before the hold is released.
        </p>
      )}
      <Button kind="primary" disabled={held} onClick={onSeen}>
        This is the memory to erase
      </Button>
    </>
  )
}

function MemoryPlaces({ storeId, memory }: { readonly storeId: string; readonly memory: Memory }) {
  const { ref, content } = memory
  const history = useCall(memoryHistory, [storeId, ref, { limit: 100 }])
  const quotes = useQuotes(storeId, content)
  const others = (history.data?.versions ?? []).filter((one) => one.ref !== ref && one.memory)
  const found = quotes.data && 'preview' in quotes.data ? quotes.data.found : null
  return (
    <>
      <blockquote className={css['content']}>{content}</blockquote>
      <Facts
        of={[
          ['Written', <Time key="t" value={memory.written_at} />],
          ['Namespace', memory.tenant_id],
          ['Copies', 'stored data, search index, backups: unreadable once its key is destroyed'],
          [
            'Decisions with this text',
            found ? found.decisions_using + found.decisions_naming : quotes.error ? 'unknown' : '…',
          ],
          ['Other records with this text', found?.texts],
        ]}
      />
      {others.length > 0 && (
        <p>
          It has other versions that stay readable: {others.map((one) => one.ref).join(', ')}. Each
          is erased on its own.
        </p>
      )}
    </>
  )
}

/** Counts records that contain the beginning of a text. This reads everything, so it runs once. */
function useQuotes(storeId: string, content: string) {
  const text = [...content].slice(0, QUOTED_CHARS).join('')
  const body = { find: { text, match: 'exact_case' as const }, store_ids: [storeId], preview: true }
  return useQuery({
    queryKey: ['erasure-quotes', storeId, text],
    queryFn: ({ signal }) => call(client, subjectsErase, body, { signal }),
    enabled: /\p{L}{2}/u.test(text),
    staleTime: Number.POSITIVE_INFINITY,
    meta: { still: true },
  })
}

function ReasonForm({ onReason }: { readonly onReason: (reason: ErasureReason) => void }) {
  const [reason, setReason] = useState(FIRST_REASON)
  return (
    <Form label="Reason" onSubmit={() => onReason(reason)}>
      <ReasonFields value={reason} onChange={setReason} />
      <Button type="submit" kind="primary">
        Continue
      </Button>
    </Form>
  )
}

function EraseButton(
  props: ChosenMemory & {
    readonly reason: ErasureReason
    readonly onErased: (issued: IssuedCertificate) => void
  },
) {
  const { storeId, ref, reason, onErased } = props
  const [open, setOpen] = useState(false)
  return (
    <>
      <p>Nothing was changed so far. The next step cannot be undone.</p>
      <Button kind="danger" onClick={() => setOpen(true)}>
        Erase memory {ref}
      </Button>
      <ConfirmDialog
        title={`Erase memory ${ref}`}
        open={open}
        onClose={() => setOpen(false)}
        verb="Erase"
        typed={String(ref)}
        act={async () =>
          onErased(
            await call(client, erasureIssue, { fact_ref: ref, store_id: storeId, ...reason }),
          )
        }
      >
        <p>
          The content becomes unreadable in every copy, in backups and in decisions that quote it.
          This cannot be undone.
        </p>
      </ConfirmDialog>
    </>
  )
}

function IssuedView({ issued }: { readonly issued: IssuedCertificate }) {
  const { data, error } = useCertificate(issued.certificate_id)
  if (error) return <ErrorState error={error} />
  if (!data) return <LoadingState />
  return (
    <>
      <div className={css['files']}>
        <CertificateFiles certificate={data} />
      </div>
      {issued.content_salt !== undefined && (
        <p>
          Salt of the content's hash, shown only now. With the text it proves what was erased.{' '}
          <Id value={issued.content_salt} />
        </p>
      )}
      <CertificateBody certificate={data} />
    </>
  )
}
