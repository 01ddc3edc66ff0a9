// Results of policies: the log of evaluations, and the display of each result.

import { governanceLogs } from '@custos/client/operations'
import type { GovernanceLog, GovernanceLogsQuery, PolicyResult } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { useUrlState } from '../../api/url-state.ts'
import { useList, usePage } from '../../api/use-call.ts'
import { inWords, Pill } from '../../parts/display.tsx'
import { Form, SelectField } from '../../parts/form.tsx'
import { EmptyState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import css from './policies.module.css'

const TONES = { allowed: 'good', denied: 'bad', escalated: 'warn', logged: 'accent' } as const
const RESULTS = ['allowed', 'denied', 'escalated', 'logged'] as const

export const ResultPill = ({ result }: { readonly result: PolicyResult }) => (
  <Pill tone={TONES[result]}>{result}</Pill>
)

const COLUMNS: readonly Column<GovernanceLog>[] = [
  { id: 'time', header: 'Time (UTC)', cell: ({ created_at: at }) => <Time value={at} /> },
  { id: 'result', header: 'Result', cell: ({ result }) => <ResultPill result={result} /> },
  {
    id: 'policy',
    header: 'Policy and why',
    grow: true,
    cell: ({ policy_id: policyId, policy_name: name, detail }) => (
      <>
        <Link to="/policies/$policyId" params={{ policyId }} search={{}}>
          {name}
        </Link>
        <p className={css['detail']}>{detail}</p>
      </>
    ),
  },
  {
    id: 'operation',
    header: 'Operation',
    cell: ({ operation }) => <code className={css['name']}>{operation}</code>,
  },
  { id: 'type', header: 'Type', optional: true, cell: ({ policy_type: t }) => inWords(t) },
  { id: 'action', header: 'Action', optional: true, cell: ({ action }) => inWords(action) },
  {
    id: 'request',
    header: 'Request',
    optional: true,
    cell: ({ request_summary: summary }) => summary,
  },
]

/** The results of one policy or of all, newest first. */
export function ResultsTable({ policyId }: { readonly policyId?: string }) {
  const [chosen, setResult] = useUrlState('result')
  const result = RESULTS.find((one) => one === chosen)
  const query: GovernanceLogsQuery = {
    ...usePage('log-'),
    ...(policyId === undefined ? {} : { policy_id: policyId }),
    ...(result === undefined ? {} : { result }),
  }
  const list = useList(governanceLogs, [query], ({ logs }) => logs)
  return (
    <Table
      label="Results of policies"
      name="log-"
      list={list}
      columns={policyId === undefined ? COLUMNS : COLUMNS.filter(({ id }) => id !== 'type')}
      rowId={({ log_id: id }) => id ?? ''}
      filters={
        <Form inline label="Filters" onSubmit={() => undefined}>
          <SelectField
            label="Result"
            value={result ?? ''}
            onChange={setResult}
            options={[['', 'All'], ...RESULTS.map((one) => [one, one] as const)]}
          />
        </Form>
      }
      empty={
        <EmptyState title={result === undefined ? 'No results yet' : `No result is “${result}”`}>
          <p>Each request that policies concern is recorded here, without its content.</p>
        </EmptyState>
      }
    />
  )
}
