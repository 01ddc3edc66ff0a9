// Erasure: the walk-through for one memory, and the certificates of all erasures.

import { erasureList } from '@custos/client/operations'
import type { Certificate } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { useList, usePage } from '../../api/use-call.ts'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { OutcomePill, subjectOf } from './certificate-view.tsx'
import { EraseOne } from './erase-one.tsx'
import css from './erasure.module.css'

const COLUMNS: readonly Column<Certificate>[] = [
  {
    id: 'completed',
    header: 'Completed (UTC)',
    cell: ({ erasure_completed_at }) => <Time value={erasure_completed_at} />,
  },
  {
    id: 'subject',
    header: 'Erased',
    grow: true,
    cell: (certificate) => (
      <Link
        to="/erasure/$certificateId"
        params={{ certificateId: certificate.certificate_id }}
        search={{}}
      >
        {subjectOf(certificate)}
      </Link>
    ),
  },
  {
    id: 'store',
    header: 'Store',
    cell: ({ store_id }) => <span className={css['name']}>{store_id ?? '–'}</span>,
  },
  { id: 'outcome', header: 'Outcome', cell: ({ outcome }) => <OutcomePill outcome={outcome} /> },
  {
    id: 'decisions',
    header: 'Decisions redacted',
    numeric: true,
    cell: ({ scrubbed_decision_ids }) => scrubbed_decision_ids.length,
  },
  { id: 'basis', header: 'Legal basis', grow: true, cell: ({ legal_basis }) => legal_basis },
  {
    id: 'requested_by',
    header: 'Requested by',
    optional: true,
    cell: ({ requested_by }) => requested_by ?? '–',
  },
]

export function Erasure() {
  const list = useList(erasureList, [usePage()], ({ certificates }) => certificates)
  return (
    <>
      <PageHeader
        title="Erasure"
        about={
          <>
            Erase one memory in every copy, with a signed certificate. To erase everything about a
            person, use{' '}
            <Link to="/subjects" search={{}}>
              subject requests
            </Link>
            .
          </>
        }
      />
      <EraseOne />
      <Section title="Certificates">
        <Table
          label="Certificates"
          list={list}
          columns={COLUMNS}
          rowId={({ certificate_id }) => certificate_id}
          rowLink={({ certificate_id: certificateId }) => ({
            to: '/erasure/$certificateId',
            params: { certificateId },
          })}
          signed
          empty={
            <EmptyState title="Nothing was erased yet">
              <p>Each erasure leaves a certificate here, which anybody can verify.</p>
            </EmptyState>
          }
        />
      </Section>
    </>
  )
}
