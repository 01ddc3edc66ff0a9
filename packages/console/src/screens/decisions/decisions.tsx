// The decisions of agents: what was asked, what was answered, and with which memories.

import { call } from '@custos/client/core'
import { decisionsExport, decisionsList, decisionsStats } from '@custos/client/operations'
import type { Decision, DecisionsListQuery } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { Download } from 'lucide-react'
import { useState } from 'react'
import { client } from '../../api/connection.ts'
import { useUrlChange, useUrlSearch } from '../../api/url-state.ts'
import { useCall, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { counted, formatNumber, Pill } from '../../parts/display.tsx'
import { Form, TextField } from '../../parts/form.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { saveLines } from '../../parts/save-button.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import css from './decisions.module.css'

const COLUMNS: readonly Column<Decision>[] = [
  { id: 'time', header: 'Time (UTC)', cell: ({ timestamp }) => <Time value={timestamp} /> },
  {
    id: 'query',
    header: 'Asked and answered',
    grow: true,
    cell: ({ decision_id: id, query, output, redacted }) => (
      <>
        <Link to="/decisions/$decisionId" params={{ decisionId: id }} search={{}}>
          {query === '' ? '(no question)' : query}
        </Link>{' '}
        {redacted && <Pill tone="warn">redacted</Pill>}
        <p className={css['output']}>{output}</p>
      </>
    ),
  },
  { id: 'model', header: 'Model', cell: ({ model_id }) => model_id },
  { id: 'store', header: 'Store', cell: ({ store_id }) => store_id },
  { id: 'session', header: 'Session', optional: true, cell: ({ session_id }) => session_id ?? '–' },
  {
    id: 'memories',
    header: 'Memories',
    numeric: true,
    cell: ({ retrieved_refs }) => retrieved_refs.length,
  },
  {
    id: 'latency',
    header: 'Latency',
    numeric: true,
    optional: true,
    cell: ({ latency_ms: ms }) => (ms === null ? '–' : `${formatNumber(ms)} ms`),
  },
  {
    id: 'tokens',
    header: 'Tokens',
    numeric: true,
    optional: true,
    cell: ({ token_count }) => token_count ?? '–',
  },
]

const FILTERS = ['store_id', 'model_id', 'session_id', 'from', 'to'] as const

/** The filters in the address, in the form of the operation's query. */
function useFilters(): Pick<DecisionsListQuery, (typeof FILTERS)[number]> {
  const search = useUrlSearch()
  const given = FILTERS.flatMap((name) => (search[name] ? [[name, search[name]]] : []))
  return Object.fromEntries(given)
}

export function Decisions() {
  const filters = useFilters()
  const list = useList(decisionsList, [{ ...usePage(), ...filters }], ({ decisions }) => decisions)
  const { data } = useCall(decisionsStats, [])
  const isFiltered = Object.keys(filters).length > 0
  return (
    <>
      <PageHeader
        title="Decisions"
        about={data && <Totals total={data.total_decisions} models={data.models_used} />}
        actions={<ExportButton {...filters} />}
      />
      <Table
        label="Decisions"
        list={list}
        columns={COLUMNS}
        rowId={({ decision_id }) => decision_id}
        rowLink={({ decision_id: id }) => ({
          to: '/decisions/$decisionId',
          params: { decisionId: id },
        })}
        signed
        filters={<Filters />}
        empty={
          <EmptyState title={isFiltered ? 'No decision matches' : 'No decisions yet'}>
            <p>Agents log them with decisions.log: what they asked, were given and answered.</p>
          </EmptyState>
        }
      />
    </>
  )
}

const Totals = ({ total, models }: { readonly total: number; readonly models: number }) => (
  <>
    {formatNumber(total)} on record, by {counted(models, 'model')}. Each is signed, with the
    memories as the model saw them.
  </>
)

const LABELS = {
  store_id: 'Store',
  model_id: 'Model',
  session_id: 'Session',
  from: 'From (UTC)',
  to: 'To (UTC)',
} as const

function Filters() {
  const search = useUrlSearch()
  const change = useUrlChange()
  return (
    <Form inline label="Filters" onSubmit={() => undefined}>
      {FILTERS.map((name) => (
        <TextField
          key={name}
          label={LABELS[name]}
          type={name === 'from' || name === 'to' ? 'date' : 'text'}
          value={search[name] ?? ''}
          onChange={(value) => change({ [name]: value, cursor: '' }, true)}
        />
      ))}
    </Form>
  )
}

function ExportButton({ from, to }: Pick<DecisionsListQuery, 'from' | 'to'>) {
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const save = async () => {
    setBusy(true)
    setError(null)
    const period = { ...(from ? { from } : {}), ...(to ? { to } : {}) }
    await saveLines(call(client, decisionsExport, period), 'decisions.ndjson').catch(setError)
    setBusy(false)
  }
  return (
    <>
      <Button icon={Download} busy={busy} onClick={() => void save()}>
        Export NDJSON
      </Button>
      {error !== null && <ErrorState error={error} />}
    </>
  )
}
