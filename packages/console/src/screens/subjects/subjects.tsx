// Requests of data subjects with their due dates, and a link to a new one.

import { subjectsList } from '@custos/client/operations'
import type { SubjectRequest, SubjectsListQuery } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useUrlChange, useUrlSearch } from '../../api/url-state.ts'
import { useCall, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { formatNumber } from '../../parts/display.tsx'
import { Form, SelectField } from '../../parts/form.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { EmptyState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { NewRequest } from './new-request.tsx'
import { DuePill, KINDS, StatusPill, totalOf } from './request-pills.tsx'
import css from './subjects.module.css'

const COLUMNS: readonly Column<SubjectRequest>[] = [
  {
    id: 'request',
    header: 'Request',
    grow: true,
    cell: ({ request_id: requestId, kind }) => (
      <Link to="/subjects/$requestId" params={{ requestId }} search={{}}>
        {KINDS[kind]} <code>{requestId.slice(0, 8)}</code>
      </Link>
    ),
  },
  { id: 'due', header: 'Due', cell: (request) => <DuePill request={request} /> },
  { id: 'status', header: 'State', cell: (request) => <StatusPill request={request} /> },
  {
    id: 'found',
    header: 'Found',
    numeric: true,
    cell: ({ found }) => formatNumber(totalOf(found)),
  },
  { id: 'held', header: 'On hold', numeric: true, cell: ({ found }) => formatNumber(found.held) },
  {
    id: 'received',
    header: 'Received (UTC)',
    cell: ({ received_at }) => <Time value={received_at} />,
  },
  {
    id: 'due_at',
    header: 'Due (UTC)',
    optional: true,
    cell: ({ due_at }) => <Time value={due_at} />,
  },
  {
    id: 'completed',
    header: 'Completed (UTC)',
    cell: ({ completed_at }) => <Time value={completed_at} />,
  },
]

export function Subjects() {
  const { new: kind } = useUrlSearch()
  if (kind === 'erase' || kind === 'access') return <NewRequest key={kind} kind={kind} />
  return <Board />
}

/** The filters in the address, in the form of the operation's query. */
function useFilters(): SubjectsListQuery {
  const { kind, status, overdue } = useUrlSearch()
  // The service refuses values of the address that are not allowed.
  return {
    ...(kind ? { kind } : {}),
    ...(status ? { status } : {}),
    ...(overdue ? { overdue: overdue === 'true' } : {}),
  } as SubjectsListQuery
}

function Board() {
  const change = useUrlChange()
  const filters = useFilters()
  const list = useList(subjectsList, [{ ...usePage(), ...filters }], ({ requests }) => requests)
  const isFiltered = Object.keys(filters).length > 0
  const actions = (
    <>
      <Button icon={Plus} onClick={() => change({ new: 'access' })}>
        New access request
      </Button>
      <Button kind="primary" icon={Plus} onClick={() => change({ new: 'erase' })}>
        New erasure request
      </Button>
    </>
  )
  return (
    <>
      <PageHeader
        title="Subject requests"
        about="What people asked about their own data. The law gives one month for an answer."
        actions={actions}
      />
      <Overdue />
      <Table
        label="Subject requests"
        list={list}
        columns={COLUMNS}
        rowId={({ request_id }) => request_id}
        rowLink={({ request_id: requestId }) => ({
          to: '/subjects/$requestId',
          params: { requestId },
        })}
        filters={<Filters />}
        empty={
          <EmptyState title={isFiltered ? 'No request matches' : 'No requests yet'}>
            <p>
              When a person asks what you hold about them, or asks to be forgotten, begin here:
              find, look, decide, and take the signed proof.
            </p>
          </EmptyState>
        }
      />
    </>
  )
}

function Overdue() {
  const change = useUrlChange()
  const { data } = useCall(subjectsList, [{ overdue: true, limit: 200 }])
  const many = data?.requests.length ?? 0
  if (many === 0) return null
  return (
    <p className={css['overdue']} role="alert">
      {many === 1 ? '1 request is overdue.' : `${many} requests are overdue.`}{' '}
      <Button onClick={() => change({ overdue: 'true', cursor: '' })}>Show overdue requests</Button>
    </p>
  )
}

const FILTERS = [
  [
    'kind',
    'Kind',
    [
      ['', 'All'],
      ['erase', 'Erasure'],
      ['access', 'Access'],
    ],
  ],
  [
    'status',
    'State',
    [
      ['', 'All'],
      ['queued', 'Queued'],
      ['running', 'Running'],
      ['done', 'Done'],
      ['done_with_holds', 'Done, some kept'],
    ],
  ],
  [
    'overdue',
    'Due',
    [
      ['', 'All'],
      ['true', 'Overdue'],
      ['false', 'Not overdue'],
    ],
  ],
] as const

function Filters() {
  const search = useUrlSearch()
  const change = useUrlChange()
  return (
    <Form inline label="Filters" onSubmit={() => undefined}>
      {FILTERS.map(([name, label, options]) => (
        <SelectField
          key={name}
          label={label}
          options={options}
          value={search[name] ?? ''}
          onChange={(value) => change({ [name]: value, cursor: '' }, true)}
        />
      ))}
    </Form>
  )
}
