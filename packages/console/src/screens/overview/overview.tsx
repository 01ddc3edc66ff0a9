// The overview: the tenant's data, recent activity, pending work, and first steps.

import {
  approvalsRequests,
  gcrumbsBreadcrumbs,
  gcrumbsStats,
  monitoringStats,
} from '@custos/client/operations'
import type { Breadcrumb } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { formatTime, nowMs } from '../../ambient.ts'
import { useSession } from '../../api/session.tsx'
import { useCall } from '../../api/use-call.ts'
import { CodeBlock } from '../../parts/code.tsx'
import { counted, Figure, Figures } from '../../parts/display.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { CheckpointWatch } from './checkpoint-watch.tsx'
import css from './overview.module.css'

const DAYS = 30
const DAY_MS = 86_400_000
/** Number of audit log entries from which the lines are drawn. */
const ENTRIES_MAX = 1_000

/** The kinds of entries that each line counts. */
const LINES = {
  memories: /^memory\.(written|superseded)$/,
  decisions: /^decision\.logged/,
  erasures: /^erasure\.certified$/,
  denials: /^evaluation\.denied$/,
} as const

export function Overview() {
  const { caller } = useSession()
  return caller.tenant_id === null ? <OperatorOverview /> : <TenantOverview />
}

const OperatorOverview = () => (
  <>
    <PageHeader title="Overview" about="An operator's key reads no tenant's data." />
    <p>
      <Link to="/tenants" search={{}}>
        Tenants
      </Link>{' '}
      lists who uses this service;{' '}
      <Link to="/health" search={{}}>
        Health
      </Link>{' '}
      says how it is.
    </p>
  </>
)

function TenantOverview() {
  const { can } = useSession()
  const { data, error, request } = useCall(monitoringStats, [])
  return (
    <>
      <PageHeader
        title="Overview"
        about={data && `Version ${data.version}, ${counted(data.stores.active, 'store')}.`}
        request={request}
      />
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && <Numbers stats={data} />}
      {data?.memories === 0 && <QuickStart />}
      <div className={css['columns']}>
        {can('compliance:read') && <Waiting />}
        {can('gcrumbs:read') && <CheckpointWatch />}
      </div>
      {can('gcrumbs:read') && <Recent />}
      {data && data.memories > 0 && <QuickStart />}
    </>
  )
}

/** The newest entries of the audit log, oldest first. */
function useNewestEntries(count: number) {
  const { can } = useSession()
  const { data } = useCall(gcrumbsStats, [], { enabled: can('gcrumbs:read') })
  const total = data?.total_breadcrumbs
  const offset = Math.max(0, (total ?? 0) - count)
  const query = { limit: count, offset }
  return useCall(gcrumbsBreadcrumbs, [query], { enabled: total !== undefined, keep: true })
}

function Numbers(props: {
  readonly stats: {
    readonly memories: number
    readonly decisions: number
    readonly certificates: number | null
  }
}) {
  const { stats } = props
  const { data } = useNewestEntries(ENTRIES_MAX)
  const { days, whole } = useMemo(() => countByDay(data?.breadcrumbs ?? [], nowMs()), [data])
  const denials = days.denials.reduce((sum, count) => sum + count, 0)
  return (
    <Figures>
      <Figure label="Memories" value={stats.memories}>
        {whole && <Sparkline label="Memories written" days={days.memories} />}
      </Figure>
      <Figure label="Decisions" value={stats.decisions}>
        {whole && <Sparkline label="Decisions logged" days={days.decisions} />}
      </Figure>
      <Figure label="Erasure certificates" value={stats.certificates}>
        {whole && <Sparkline label="Erasures" days={days.erasures} />}
      </Figure>
      <Figure
        label={
          whole
            ? 'Denials, 30 days'
            : `Denials, newest ${counted(ENTRIES_MAX, 'log entry', 'log entries')}`
        }
        value={data ? denials : null}
      >
        {whole && <Sparkline label="Denials" days={days.denials} />}
      </Figure>
    </Figures>
  )
}

/** Counts entries per day. `whole` if they reach back to the first day or the log's beginning. */
function countByDay(entries: readonly Breadcrumb[], now: number) {
  const first = formatTime(now - (DAYS - 1) * DAY_MS).slice(0, 10)
  const index = new Map(
    Array.from({ length: DAYS }, (_, i) => [
      formatTime(now - (DAYS - 1 - i) * DAY_MS).slice(0, 10),
      i,
    ]),
  )
  const empty = () => Array.from({ length: DAYS }, () => 0)
  const days = {
    memories: empty(),
    decisions: empty(),
    erasures: empty(),
    denials: empty(),
  }
  for (const { event_type: type, created_at: at } of entries) {
    const day = index.get(at.slice(0, 10))
    if (day === undefined || at < first) continue
    for (const name of Object.keys(LINES) as (keyof typeof LINES)[])
      if (LINES[name].test(type)) days[name][day] = (days[name][day] ?? 0) + 1
  }
  const [oldest] = entries
  const whole = !oldest || oldest.seq === 0 || oldest.created_at < first
  return { days, whole }
}

function Sparkline({ label, days }: { readonly label: string; readonly days: readonly number[] }) {
  const most = Math.max(1, ...days)
  const points = days.map((count, i) => `${i * 4},${23 - (count / most) * 21}`).join(' ')
  const sum = days.reduce((total, count) => total + count, 0)
  return (
    <svg
      className={css['line']}
      viewBox="0 0 116 24"
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label} in ${DAYS} days: ${sum}`}
    >
      <polyline points={points} />
    </svg>
  )
}

function Waiting() {
  const { data, error } = useCall(approvalsRequests, [{ status: 'pending', limit: 5 }])
  return (
    <Section title="Waits for a person">
      {error && <ErrorState error={error} />}
      {data?.requests.length === 0 && <p className={css['quiet']}>Nothing waits.</p>}
      <ul className={css['list']}>
        {data?.requests.map(({ request_id: id, action, expires_at }) => (
          <li key={id}>
            <Link to="/approvals/$requestId" params={{ requestId: id }} search={{}}>
              {action}
            </Link>
            <span>
              expires <Time value={expires_at} relative />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  )
}

const RECENT = 8

function Recent() {
  const { data } = useNewestEntries(RECENT)
  if (!data || data.breadcrumbs.length === 0) return null
  return (
    <Section title="Newest log entries">
      <ul className={css['list']}>
        {[...data.breadcrumbs].reverse().map(({ seq, event_type, created_at }) => (
          <li key={seq}>
            <span>
              <code>{seq}</code> {event_type}
            </span>
            <Time value={created_at} relative />
          </li>
        ))}
      </ul>
    </Section>
  )
}

function QuickStart() {
  const { caller } = useSession()
  const key = caller.mode === 'local' ? '' : '\n  -H "authorization: Bearer $CUSTOS_API_KEY" \\'
  const call = (path: string, body: string) =>
    [
      `curl ${location.origin}/v1/stores/default/${path} \\${key}`,
      "  -H 'content-type: application/json' \\",
      `  -d '${body}'`,
    ].join('\n')
  const text = [
    call('write', '{"content":"Ana prefers the window seat"}'),
    call('retrieve', '{"query":"where does Ana sit?","budget_tokens":500}'),
  ].join('\n\n')
  return (
    <Section title="Quick start" about="Write a memory, then find it.">
      <CodeBlock label="Quick start" text={text} />
    </Section>
  )
}
