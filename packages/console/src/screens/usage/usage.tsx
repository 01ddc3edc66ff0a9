// The usage of the tenant: by month, by operation, and against the limits of its plan.

import { tenantsCurrentUsage, tenantsUsage } from '@custos/client/operations'
import type { TenantsCurrentUsageReply, TenantsUsageReply } from '@custos/client/types'
import { useMemo } from 'react'
import { formatTime, nowMs, parseTime } from '../../ambient.ts'
import { useSession } from '../../api/session.tsx'
import { useUrlState } from '../../api/url-state.ts'
import { useCall, useCalls } from '../../api/use-call.ts'
import { Chart } from '../../parts/chart.tsx'
import {
  Facts,
  Figure,
  Figures,
  formatBytes,
  formatNumber,
  inWords,
  Meter,
} from '../../parts/display.tsx'
import { Form, SelectField } from '../../parts/form.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import css from './usage.module.css'

const MONTHS = 12
const CHART_MONTHS = 6

/** The last months, newest first, as `2026-11`. */
function lastMonths(): readonly string[] {
  const [year = 0, month = 1] = formatTime(nowMs()).slice(0, 7).split('-').map(Number)
  return Array.from({ length: MONTHS }, (_, i) => {
    const at = year * 12 + (month - 1) - i
    return `${Math.floor(at / 12)}-${String((at % 12) + 1).padStart(2, '0')}`
  })
}

export function Usage() {
  const { caller, can } = useSession()
  const months = lastMonths()
  const [chosen, choose] = useUrlState('month')
  const period = chosen === '' ? (months[0] ?? '') : chosen
  const tenant = caller.tenant_id ?? ''
  const { data, error, request } = useCall(tenantsUsage, [tenant, { period }], {
    enabled: tenant !== '',
    keep: true,
  })
  return (
    <>
      <PageHeader
        title="Usage"
        about={data && <Period from={data.period_start} to={data.period_end} />}
        actions={
          <Form inline label="Month" onSubmit={() => undefined}>
            <SelectField
              label="Month"
              value={period}
              options={months.map((month) => [month, month] as const)}
              onChange={choose}
            />
          </Form>
        }
        request={request}
      />
      {error && <ErrorState error={error} />}
      {tenant === '' && <EmptyState title="The usage of a tenant is on its own page" />}
      {!data && !error && tenant !== '' && <LoadingState />}
      {data && <MonthOfUse usage={data} />}
      {tenant !== '' && <Months tenant={tenant} months={months.slice(0, CHART_MONTHS)} />}
      {can('decisions:read') && <PlanLimits />}
    </>
  )
}

const Period = ({ from, to }: { readonly from: string; readonly to: string }) => (
  <>
    <Time value={from} /> to <Time value={to} />, UTC
  </>
)

function MonthOfUse({ usage }: { readonly usage: TenantsUsageReply }) {
  const rows = Object.entries(usage.operations).sort(([, a], [, b]) => b - a)
  const most = Math.max(1, ...rows.map(([, count]) => count))
  return (
    <>
      <Figures>
        <Figure label="Reads" value={usage.reads} />
        <Figure label="Writes" value={usage.writes} />
        <Figure label="Erased and redacted" value={usage.deletes} />
        <Figure label="All operations" value={usage.total_operations} />
      </Figures>
      <Section title="By operation" about={`${formatBytes(usage.total_bytes)} written.`}>
        {rows.length === 0 ? (
          <EmptyState title="Nothing was used in this month" />
        ) : (
          <table className={css['table']} aria-label="Calls by operation">
            <thead>
              <tr>
                <th scope="col">Operation</th>
                <th scope="col">Calls</th>
                <th scope="col">
                  <span className="visually-hidden">Share</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map(([name, count]) => (
                <tr key={name}>
                  <td>
                    <code>{name}</code>
                  </td>
                  <td>{formatNumber(count)}</td>
                  <td>
                    <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
                      <rect width={(count / most) * 100} height="1" />
                    </svg>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Section>
    </>
  )
}

/** Reads and writes of the last months, oldest first. */
function Months(props: { readonly tenant: string; readonly months: readonly string[] }) {
  const { tenant, months } = props
  const oldestFirst = months.toReversed()
  const replies = useCalls(
    tenantsUsage,
    oldestFirst.map((period): [string, { period: string }] => [tenant, { period }]),
  )
  const text = JSON.stringify(replies.map((one) => one && [one.reads, one.writes]))
  const key = oldestFirst.join()
  // Redraws only if the numbers change, not if the objects do.
  const chart = useMemo(() => {
    const numbers = JSON.parse(text) as readonly (readonly [number, number] | null)[]
    return {
      times: key.split(',').map((month) => (parseTime(`${month}-01T00:00:00Z`) ?? 0) / 1_000),
      series: [
        { label: 'Reads', values: numbers.map((one) => one?.[0] ?? 0) },
        { label: 'Writes', values: numbers.map((one) => one?.[1] ?? 0) },
      ],
    }
  }, [text, key])
  if (replies.includes(undefined)) return null
  return (
    <Section title={`${months.length} months`}>
      <Chart label="Reads and writes" {...chart} timeText={monthText} />
    </Section>
  )
}

const monthText = (seconds: number): string => formatTime(seconds * 1_000).slice(0, 7)

function PlanLimits() {
  const { data, error } = useCall(tenantsCurrentUsage, [])
  if (error) return <ErrorState error={error} />
  if (!data) return null
  return (
    <Section title="Plan" about={`Plan ${data.plan}.`}>
      <Governed usage={data} />
      <div className={css['limits']}>
        {data.limits.map(({ quota, used, limit }) => (
          <Meter key={quota} label={inWords(quota)} value={used} max={limit} />
        ))}
      </div>
    </Section>
  )
}

function Governed({ usage }: { readonly usage: TenantsCurrentUsageReply }) {
  const { included_allotment: included, governed_decisions: governed } = usage
  return (
    <Facts
      of={[
        ['Period', <Period key="p" from={usage.period.start} to={usage.period.end} />],
        ['Governed decisions', formatNumber(governed)],
        ['Included in the plan', included === null ? 'no limit stated' : formatNumber(included)],
        ['Beyond the plan', usage.metered_enabled ? 'billed' : 'not billed'],
      ]}
    />
  )
}
