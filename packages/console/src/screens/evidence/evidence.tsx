// Evidence: reports on what is on record, checks of the service, and the conformance badge.

import { reportsFrameworks, reportsList } from '@custos/client/operations'
import type { ReportFinding, ReportsListReply, ReportType } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useCall } from '../../api/use-call.ts'
import { useList, usePage } from '../../api/use-list.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Pill } from '../../parts/display.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { Badge } from './badge.tsx'
import { Checks } from './checks.tsx'
import { GenerateReport } from './generate-report.tsx'

const FINDINGS = {
  EVIDENCE_FOUND: ['good', 'on record'],
  PARTIAL: ['warn', 'partly on record'],
  INSUFFICIENT_DATA: ['bad', 'not on record'],
  NOT_AUTOMATABLE: ['plain', 'for people to show'],
} as const

export const FindingPill = ({ finding }: { readonly finding: ReportFinding }) => (
  <Pill tone={FINDINGS[finding][0]}>{FINDINGS[finding][1]}</Pill>
)

/** Names of frameworks by their type. */
export function useFrameworkNames(): (type: ReportType) => string {
  const { data } = useCall(reportsFrameworks, [])
  return (type) => data?.frameworks.find((one) => one.type === type)?.name ?? type
}

type Summary = ReportsListReply['reports'][number]

const columnsWith = (nameOf: (type: ReportType) => string): readonly Column<Summary>[] => [
  {
    id: 'title',
    header: 'Report',
    grow: true,
    cell: ({ report_id: reportId, title, report_type: type }) => (
      <Link to="/evidence/$reportId" params={{ reportId }} search={{}}>
        {title ?? nameOf(type)}
      </Link>
    ),
  },
  { id: 'framework', header: 'Framework', cell: ({ report_type: type }) => nameOf(type) },
  {
    id: 'finding',
    header: 'Evidence',
    cell: ({ overall_finding: finding }) => <FindingPill finding={finding} />,
  },
  {
    id: 'period',
    header: 'Period (UTC)',
    cell: ({ period_start: from, period_end: to }) => (
      <>
        <time dateTime={from}>{from.slice(0, 10)}</time> –{' '}
        <time dateTime={to}>{to.slice(0, 10)}</time>
      </>
    ),
  },
  { id: 'made', header: 'Generated', cell: ({ generated_at: at }) => <Time value={at} /> },
  { id: 'seq', header: 'Log position', numeric: true, optional: true, cell: (row) => row.log_seq },
]

export function Evidence() {
  const { can, caller } = useSession()
  const [making, setMaking] = useState(false)
  const list = useList(reportsList, [usePage()], ({ reports }) => reports)
  const makes = can('compliance:admin') && (
    <Button kind="primary" icon={Plus} onClick={() => setMaking(true)}>
      Generate a report
    </Button>
  )
  return (
    <>
      <PageHeader
        title="Evidence"
        about="What the audit log shows for an auditor. A finding says whether evidence is on record, never whether a law is complied with."
        actions={makes}
      />
      <Section title="Reports">
        <Table
          label="Reports"
          list={list}
          columns={columnsWith(useFrameworkNames())}
          rowId={({ report_id }) => report_id}
          rowLink={({ report_id: reportId }) => ({
            to: '/evidence/$reportId',
            params: { reportId },
          })}
          empty={
            <EmptyState title="No reports yet">
              <p>A report lists the evidence for each article of a framework, signed.</p>
            </EmptyState>
          }
        />
      </Section>
      <Checks />
      {caller.tenant_id !== null && <Badge tenantId={caller.tenant_id} />}
      <Dialog title="Generate a report" open={making} onClose={() => setMaking(false)}>
        <GenerateReport />
      </Dialog>
    </>
  )
}
