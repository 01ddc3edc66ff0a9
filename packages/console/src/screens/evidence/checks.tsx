// The service's checks of its own data: runs, and differences from the baseline.

import {
  assuranceCaptureBaseline,
  assuranceDrift,
  assuranceGetRun,
  assuranceRun,
  assuranceRuns,
  assuranceStats,
} from '@custos/client/operations'
import type { AssuranceRunSummary } from '@custos/client/types'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useUrlState } from '../../api/url-state.ts'
import { useAction, useCall, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { counted, Figure, Figures, inWords, Pill } from '../../parts/display.tsx'
import { CheckField } from '../../parts/form.tsx'
import { Section } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import css from './evidence.module.css'

const POLL_MS = 1_000
const CHECKS = ['chain', 'seals', 'ledger', 'policies', 'clock'] as const

const TONES = { running: 'accent', pass: 'good', fail: 'bad', drift: 'warn' } as const
const RESULTS = { pass: 'good', fail: 'bad', not_checked: 'plain' } as const

export function Checks() {
  const { can } = useSession()
  const [opened, setOpened] = useUrlState('run')
  const list = useList(assuranceRuns, [usePage('runs_')], ({ runs }) => runs)
  const columns: readonly Column<AssuranceRunSummary>[] = [
    {
      id: 'started',
      header: 'Started (UTC)',
      grow: true,
      cell: ({ run_id: id, started_at: at }) => (
        <button type="button" className={css['link']} onClick={() => setOpened(id)}>
          <Time value={at} />
        </button>
      ),
    },
    {
      id: 'status',
      header: 'Result',
      cell: ({ status }) => <Pill tone={TONES[status]}>{status}</Pill>,
    },
    { id: 'trigger', header: 'Why', cell: ({ trigger }) => trigger },
    { id: 'checks', header: 'Checks', cell: ({ checks }) => checks.join(', ') },
    { id: 'drift', header: 'Drift', numeric: true, cell: (row) => row.drift_events_count },
  ]
  return (
    <Section
      title="Checks of the service"
      about="The log from its first entry, seals, the erasure ledger, policies and the clock."
      actions={can('compliance:admin') && <CheckActs onRun={setOpened} />}
    >
      <CheckFigures />
      <Table
        name="runs_"
        label="Runs of checks"
        list={list}
        columns={columns}
        rowId={({ run_id }) => run_id}
        empty={<EmptyState title="No check has run yet" />}
      />
      <Drift />
      <Dialog wide title="Run of checks" open={opened !== ''} onClose={() => setOpened('')}>
        <OneCheckRun runId={opened} />
      </Dialog>
    </Section>
  )
}

function CheckFigures() {
  const { data } = useCall(assuranceStats, [])
  if (!data || data.total_runs === 0) return null
  return (
    <Figures>
      <Figure label="Passed" value={data.passed} />
      <Figure label="Drifted" value={data.drifted} />
      <Figure label="Failed" value={data.failed} />
      <Figure label="Active schedules" value={data.active_schedules} />
    </Figures>
  )
}

function CheckActs({ onRun }: { readonly onRun: (runId: string) => void }) {
  const [conformance, setConformance] = useState(false)
  const run = useAction(assuranceRun)
  const capture = useAction(assuranceCaptureBaseline)
  const start = async () => {
    const checks = conformance ? [...CHECKS, 'conformance' as const] : [...CHECKS]
    onRun((await run.mutateAsync([{ checks, background: true }])).run_id)
  }
  const keep = async () => onRun((await capture.mutateAsync([])).run_id)
  return (
    <>
      <CheckField label="With conformance" checked={conformance} onChange={setConformance} />
      <Button busy={capture.isPending} onClick={() => void keep().catch(() => undefined)}>
        Keep as baseline
      </Button>
      <Button busy={run.isPending} onClick={() => void start().catch(() => undefined)}>
        Run checks
      </Button>
      {run.error && <ErrorState error={run.error} />}
      {capture.error && <ErrorState error={capture.error} />}
    </>
  )
}

function OneCheckRun({ runId }: { readonly runId: string }) {
  const { data, error } = useCall(assuranceGetRun, [runId], { refetchMs: POLL_MS })
  if (error) return <ErrorState error={error} />
  if (!data) return <LoadingState />
  // A result is listed under its name and under the alias that was requested.
  const results = Object.entries(data.checks_results)
  return (
    <div className={css['articles']}>
      <p role="status">
        <Pill tone={TONES[data.status]}>{data.status}</Pill>{' '}
        {data.status === 'running' ? 'The checks are running.' : data.error}
      </p>
      {results.map(([name, result]) => (
        <article key={name} className={css['article']}>
          <h3>
            {inWords(name)} <Pill tone={RESULTS[result.status]}>{inWords(result.status)}</Pill>
          </h3>
          <p>{result.detail}</p>
          {result.findings.length > 0 && (
            <ul>
              {result.findings.map(({ kind, id, what }) => (
                <li key={`${kind} ${id}`}>
                  {inWords(kind)} {id}: {what}
                </li>
              ))}
            </ul>
          )}
        </article>
      ))}
      {data.drift_events.map(({ check, detail, type }) => (
        <p key={`${check} ${detail}`}>
          <Pill tone={type === 'regression' ? 'bad' : 'warn'}>{type}</Pill> {inWords(check)}:{' '}
          {detail}
        </p>
      ))}
    </div>
  )
}

function Drift() {
  const { data, error } = useCall(assuranceDrift, [{ limit: 20 }])
  if (error) return <ErrorState error={error} />
  if (!data || data.count === 0) return null
  return (
    <details className={css['drift']}>
      <summary>{counted(data.count, 'difference')} from the baseline</summary>
      <ul>
        {data.drift_events.map(({ run_id: run, check, detail, detected_at: at }) => (
          <li key={`${run} ${check} ${detail}`}>
            <Time value={at} /> {inWords(check)}: {detail}
          </li>
        ))}
      </ul>
    </details>
  )
}
