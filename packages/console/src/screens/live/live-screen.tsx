// The live event stream: filters, pause, rate, and missed entries.

import { streamsEvents } from '@custos/client/operations'
import type { StreamedEntry } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { Pause, Play } from 'lucide-react'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { formatTime, nowMs, parseTime } from '../../ambient.ts'
import { useLive } from '../../api/live.tsx'
import { useUrlChange, useUrlState } from '../../api/url-state.ts'
import type { CallRequest, ListResult } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Chart } from '../../parts/chart.tsx'
import { formatNumber, Pill } from '../../parts/display.tsx'
import { Form, SelectField, TextField } from '../../parts/form.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import css from './live.module.css'

const COLUMNS: readonly Column<HeardEntry>[] = [
  {
    id: 'seq',
    header: 'Entry',
    numeric: true,
    cell: ({ entry: { seq } }) => (
      <Link to="/log/$seq" params={{ seq: String(seq) }} search={{}}>
        {formatNumber(seq)}
      </Link>
    ),
  },
  { id: 'time', header: 'Time (UTC)', cell: ({ entry }) => <Time value={entry.created_at} /> },
  {
    id: 'event',
    header: 'Event',
    cell: ({ entry, missing }) => (
      <>
        <code className={css['event']}>{entry.event_type}</code>
        {missing > 0 && <Pill tone="warn">{missing} missing before</Pill>}
      </>
    ),
  },
  {
    id: 'subject',
    header: 'Subject',
    cell: ({ entry }) => <span className={css['subject']}>{entry.subject}</span>,
  },
  {
    id: 'payload',
    header: 'What it says',
    grow: true,
    cell: ({ entry }) => <code className={css['payload']}>{JSON.stringify(entry.payload)}</code>,
  },
]

/** Whether the subject or the payload of an entry contains a text. */
const isAbout = ({ entry }: HeardEntry, text: string): boolean =>
  entry.subject.includes(text) || JSON.stringify(entry.payload).includes(text)

export function LiveScreen() {
  const { heard, waiting, isPaused, pause, state } = useHeard()
  const [event] = useUrlState('event')
  const [about] = useUrlState('about')
  const rows = heard.filter(
    (one) => (event === '' || one.entry.event_type === event) && isAbout(one, about),
  )
  const list: ListResult<HeardEntry> = {
    rows,
    nextCursor: null,
    error: null,
    isFetching: false,
    request: { operation: streamsEvents as CallRequest['operation'], args: [] },
  }
  const kinds = new Set(heard.map(({ entry }) => entry.event_type))
  if (event !== '') kinds.add(event)
  return (
    <>
      <PageHeader
        title="Live"
        about="Entries of the audit log as they are appended, since this screen was opened."
        actions={
          <Button icon={isPaused ? Play : Pause} onClick={() => pause(!isPaused)}>
            {isPaused ? `Go on (${waiting} waiting)` : 'Pause'}
          </Button>
        }
      />
      <p className={css['state']} role="status">
        <StreamPill isPaused={isPaused} isLive={state === 'live'} />
        {heard.some(({ missing }) => missing > 0) &&
          ' Some entries did not come by the stream: the audit log has them.'}
      </p>
      <Section title="Entries in each 5 seconds" about="Of the last five minutes">
        <RateLine heard={heard} isPaused={isPaused} />
      </Section>
      <Table
        label="Entries as they come"
        list={list}
        columns={COLUMNS}
        rowId={({ entry }) => String(entry.seq)}
        filters={<LiveFilters kinds={[...kinds].sort()} />}
        empty={
          <EmptyState title={heard.length > 0 ? 'No entry matches' : 'Nothing has happened yet'}>
            <p>The next write, decision or policy appears here by itself.</p>
          </EmptyState>
        }
      />
    </>
  )
}

function StreamPill(props: { readonly isPaused: boolean; readonly isLive: boolean }) {
  const { isPaused, isLive } = props
  if (isPaused) return <Pill tone="warn">paused</Pill>
  return isLive ? <Pill tone="good">live</Pill> : <Pill tone="bad">not connected</Pill>
}

function LiveFilters({ kinds }: { readonly kinds: readonly string[] }) {
  const [event, setEvent] = useUrlState('event')
  const [about, setAbout] = useUrlState('about')
  const change = useUrlChange()
  return (
    <Form inline label="Filters" onSubmit={() => undefined}>
      <SelectField
        label="Event"
        value={event}
        onChange={setEvent}
        options={[['', 'All'], ...kinds.map((kind) => [kind, kind] as const)]}
      />
      <TextField label="Store, agent or id" value={about} onChange={setAbout} />
      {(event !== '' || about !== '') && (
        <Button onClick={() => change({ event: '', about: '' })}>Clear</Button>
      )}
    </Form>
  )
}

const STEP_MS = 5_000
const STEPS = 60

/** The number of entries that arrived in each step before a time. */
function ratesOf(heard: readonly HeardEntry[], now: number): readonly number[] {
  const begin = now - STEPS * STEP_MS
  const counts = Array.from({ length: STEPS }, () => 0)
  for (const { entry } of heard) {
    const step = Math.floor(((parseTime(entry.created_at) ?? 0) - begin) / STEP_MS)
    // The clocks of the service and of the browser may differ a little.
    const index = Math.min(step, STEPS - 1)
    if (index >= 0) counts[index] = (counts[index] ?? 0) + 1
  }
  return counts
}

function RateLine(props: { readonly heard: readonly HeardEntry[]; readonly isPaused: boolean }) {
  const { heard, isPaused } = props
  const [now, setNow] = useState(() => stepAt(nowMs()))
  useEffect(() => {
    if (isPaused) return
    const timer = setInterval(() => setNow(stepAt(nowMs())), STEP_MS)
    return () => clearInterval(timer)
  }, [isPaused])
  const times = useMemo(
    () => Array.from({ length: STEPS }, (_, i) => (now - (STEPS - i) * STEP_MS) / 1_000),
    [now],
  )
  const series = useMemo(() => [{ label: 'Entries', values: ratesOf(heard, now) }], [heard, now])
  return (
    <Chart
      label="Entries in each 5 seconds"
      height={120}
      times={times}
      series={series}
      timeText={(seconds) => formatTime(seconds * 1_000).slice(11, 19)}
    />
  )
}

/** The end of the step that contains a time. */
const stepAt = (ms: number): number => Math.ceil(ms / STEP_MS) * STEP_MS

const KEPT = 500

/** A received entry, with the number of missing entries before it. */
interface HeardEntry {
  readonly entry: StreamedEntry
  readonly missing: number
}

/** Adds entries in the order in which they arrived. */
function withEntries(
  heard: readonly HeardEntry[],
  entries: readonly StreamedEntry[],
): readonly HeardEntry[] {
  const added: HeardEntry[] = []
  let last = heard[0]?.entry.seq ?? null
  for (const entry of entries) {
    if (last !== null && entry.seq <= last) continue
    added.push({ entry, missing: last === null ? 0 : entry.seq - last - 1 })
    last = entry.seq
  }
  return [...added.toReversed(), ...heard].slice(0, KEPT)
}

/** Follows the stream. Entries that arrive during a pause are queued. */
function useHeard() {
  const { follow, state } = useLive()
  const [heard, setHeard] = useState<readonly HeardEntry[]>([])
  const [waiting, setWaiting] = useState(0)
  const [isPaused, setPaused] = useState(false)
  const kept = useRef<StreamedEntry[]>([])
  const paused = useRef(false)
  useEffect(
    () =>
      follow((entry) => {
        if (!paused.current) return setHeard((all) => withEntries(all, [entry]))
        kept.current = [...kept.current, entry].slice(-KEPT)
        setWaiting(kept.current.length)
      }),
    [follow],
  )
  const pause = useCallback((next: boolean) => {
    paused.current = next
    setPaused(next)
    if (next) return
    const entries = kept.current
    kept.current = []
    setWaiting(0)
    setHeard((all) => withEntries(all, entries))
  }, [])
  return { heard, waiting, isPaused, pause, state }
}
