// Pending and decided approval requests, and the key with which this browser signs.

import { approvalsRequests, approvalsSettings } from '@custos/client/operations'
import type { ApprovalRequest, ApprovalsRequestsQuery } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { useUrlState } from '../../api/url-state.ts'
import { useCall, useList, usePage } from '../../api/use-call.ts'
import { Id } from '../../parts/code.tsx'
import { Facts, inWords, Pill } from '../../parts/display.tsx'
import { Form, SelectField } from '../../parts/form.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import css from './approvals.module.css'
import { BrowserKey } from './browser-key.tsx'

const TONES = { pending: 'accent', approved: 'good', denied: 'bad', expired: 'plain' } as const

export const ApprovalPill = ({ status }: Pick<ApprovalRequest, 'status'>) => (
  <Pill tone={TONES[status]}>{status}</Pill>
)

const COLUMNS: readonly Column<ApprovalRequest>[] = [
  {
    id: 'action',
    header: 'Asks for',
    grow: true,
    cell: ({ request_id: requestId, action, redacted }) => (
      <>
        <Link to="/approvals/$requestId" params={{ requestId }} search={{}}>
          {inWords(action)}
        </Link>{' '}
        {redacted && <Pill tone="warn">redacted</Pill>}
      </>
    ),
  },
  { id: 'status', header: 'State', cell: ({ status }) => <ApprovalPill status={status} /> },
  {
    id: 'expires',
    header: 'Time left',
    cell: ({ status, expires_at }) =>
      status === 'pending' ? <Time value={expires_at} relative /> : '–',
  },
  { id: 'issued', header: 'Asked (UTC)', cell: ({ issued_at }) => <Time value={issued_at} /> },
  { id: 'policies', header: 'Policies', numeric: true, cell: (row) => row.escalations.length },
  {
    id: 'record',
    header: 'Record',
    cell: ({ kind, record_id }) => (
      <>
        {inWords(kind)} <Id value={record_id} copy={false} />
      </>
    ),
  },
  {
    id: 'by',
    header: 'Asked by',
    optional: true,
    cell: ({ requested_by }) => <code>{requested_by}</code>,
  },
]

const STATES = [
  ['', 'Waiting'],
  ['approved', 'Approved'],
  ['denied', 'Denied'],
  ['expired', 'Expired'],
  ['all', 'All'],
] as const

export function Approvals() {
  const [status, setStatus] = useUrlState('status')
  // The service refuses a value of the address that is not a status.
  const filter = { status: status || 'pending' } as ApprovalsRequestsQuery
  const list = useList(approvalsRequests, [{ ...usePage(), ...filter }], ({ requests }) =>
    // The request that has waited longest is the first of its page.
    status === '' ? requests.toReversed() : requests,
  )
  return (
    <>
      <PageHeader
        title="Approvals"
        about="A policy stopped these until a person decides. On each page the oldest is first."
      />
      <Table
        label="Approval requests"
        list={list}
        columns={COLUMNS}
        rowId={({ request_id }) => request_id}
        rowLink={({ request_id: requestId }) => ({
          to: '/approvals/$requestId',
          params: { requestId },
        })}
        filters={
          <Form inline label="Filters" onSubmit={() => undefined}>
            <SelectField label="State" value={status} onChange={setStatus} options={STATES} />
          </Form>
        }
        empty={
          <EmptyState title={status === '' ? 'Nothing waits for you' : 'No such requests'}>
            <p>A policy of the type hitl_required stops an operation until somebody approves it.</p>
          </EmptyState>
        }
      />
      <div className={css['after']}>
        <Rules />
        <BrowserKey />
      </div>
    </>
  )
}

function Rules() {
  const { data, error } = useCall(approvalsSettings, [])
  return (
    <Section title="Rules for a decision">
      {error && <ErrorState error={error} />}
      {data && (
        <Facts
          of={[
            [
              'Signature of an enrolled approver',
              data.attestation_required ? 'required' : 'optional',
            ],
            [
              'Who asked may also decide',
              data.different_credential ? 'no, another credential is required' : 'yes',
            ],
            ['A new request waits for', `${Math.round(data.expires_after_seconds / 3_600)} h`],
          ]}
        />
      )}
    </Section>
  )
}
