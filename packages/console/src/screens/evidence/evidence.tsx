// Evidence: reports on recorded evidence, checks of the service, and the conformance badge.

import {
  complianceHistory,
  reportsFrameworks,
  reportsGenerate,
  reportsList,
} from '@custos/client/operations'
import type { ReportFinding, ReportsListReply, ReportType } from '@custos/client/types'
import { Link, useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useAction, useCall, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/code.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Pill } from '../../parts/display.tsx'
import { Form, SelectField, TextField } from '../../parts/form.tsx'
import { JobProgress } from '../../parts/job.tsx'
import { JsonDialog } from '../../parts/json-view.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { Checks } from './checks.tsx'
import css from './evidence.module.css'
import { Schedules } from './schedules.tsx'

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

const columnsWith = (
  nameOf: (type: ReportType) => string,
): readonly Column<ReportsListReply['reports'][number]>[] => [
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
        about="Whether evidence is on record, for an auditor; never whether a law is met."
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
      <Schedules />
      {caller.tenant_id !== null && <Badge tenantId={caller.tenant_id} />}
      <Dialog title="Generate a report" open={making} onClose={() => setMaking(false)}>
        <GenerateReport />
      </Dialog>
    </>
  )
}

const AUDITS = 10

function Badge({ tenantId }: { readonly tenantId: string }) {
  const path = `/v1/cloud/compliance/badge/${encodeURIComponent(tenantId)}.svg`
  return (
    <Section
      title="Conformance badge"
      about="Anybody may see it: how many capabilities passed in the newest check “conformance”."
    >
      <img className={css['badge']} src={path} alt="Conformance badge of this tenant" />
      <CodeBlock label="Markdown" text={`![conformance](${location.origin}${path})`} />
      <Audits tenantId={tenantId} />
    </Section>
  )
}

function Audits({ tenantId }: { readonly tenantId: string }) {
  const { data, error } = useCall(complianceHistory, [tenantId, { limit: AUDITS }])
  const [shown, setShown] = useState<string | null>(null)
  if (error) return <ErrorState error={error} />
  const audit = data?.find(({ id }) => id === shown)
  return (
    <>
      <ul className={css['audits']} aria-label="Audits">
        {data?.map(({ id, audited_at: at, conformance_rate: rate, capabilities }) => (
          <li key={id}>
            <Time value={at} />
            <span>
              {Math.round(rate * 100)} %, {capabilities.join(', ')}
            </span>
            <Button aria-label={`Show the audit of ${at}`} onClick={() => setShown(id)}>
              Show
            </Button>
          </li>
        ))}
      </ul>
      <JsonDialog
        title="Conformance audit"
        value={audit?.report_json ?? null}
        open={audit !== undefined}
        onClose={() => setShown(null)}
        signed
      />
    </>
  )
}

function GenerateReport() {
  const { data, error } = useCall(reportsFrameworks, [])
  const [chosen, setChosen] = useState('')
  const [days, setDays] = useState('30')
  const [title, setTitle] = useState('')
  const navigate = useNavigate()
  const generate = useAction(reportsGenerate)
  if (error) return <ErrorState error={error} />
  if (!data) return <LoadingState />
  const framework = data.frameworks.find(({ type }) => type === chosen) ?? data.frameworks[0]
  if (!framework) return <p>This service knows no framework.</p>
  const started = generate.data
  const open = (reportId: string) =>
    void navigate({ to: '/evidence/$reportId', params: { reportId }, search: {} })
  const submit = () =>
    generate.mutate([
      {
        framework: framework.type,
        period_days: Number(days),
        background: true,
        ...(title === '' ? {} : { title }),
      },
    ])
  return (
    <Form onSubmit={submit}>
      <SelectField
        label="Framework"
        value={framework.type}
        options={data.frameworks.map(({ type, name }) => [type, name] as const)}
        onChange={setChosen}
      />
      <p>
        {framework.regulation}, {framework.articles.length} articles.
      </p>
      <TextField
        label="Days up to now"
        type="number"
        min={1}
        max={365}
        required
        value={days}
        onChange={setDays}
      />
      <TextField label="Title" hint="Optional" maxLength={256} value={title} onChange={setTitle} />
      {generate.error && <ErrorState error={generate.error} />}
      {started && 'job_id' in started && (
        <JobProgress jobId={started.job_id} label="Report" onDone={() => open(started.report_id)} />
      )}
      <Button type="submit" kind="primary" busy={generate.isPending} disabled={!!started}>
        Generate
      </Button>
    </Form>
  )
}
