// The past of a store: the memories that were valid at one time, as known at another time.

import { memoryHistory, memoryMemories, memoryRetrieve } from '@custos/client/operations'
import type { MemoryRetrieveReply } from '@custos/client/types'
import { Link, useParams } from '@tanstack/react-router'
import { Link2, Pin, RotateCcw } from 'lucide-react'
import { formatTime, nowMs, parseTime } from '../../ambient.ts'
import { useUrlChange, useUrlSearch, useUrlState } from '../../api/url-state.ts'
import { useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/code.tsx'
import { counted, Pill } from '../../parts/display.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../parts/states.tsx'
import { VersionLanes } from './lanes.tsx'
import css from './timeline.module.css'

/** The most memories that the page compares. */
const MEMORIES_MAX = 200
const BUDGET_MAX = 1_000_000_000

type Found = MemoryRetrieveReply['memories'][number]

interface Moments {
  /** Time in milliseconds; null means now. */
  readonly validAt: number | null
  readonly knownAt: number | null
}

/** Both times in the address, or those that are pinned for comparison. */
function useMoments(prefix: '' | 'pin_' = ''): Moments {
  const search = useUrlSearch()
  const [valid, known] = [search[`${prefix}valid_at`], search[`${prefix}known_at`]]
  return { validAt: valid ? parseTime(valid) : null, knownAt: known ? parseTime(known) : null }
}

/** Reads all memories of a store that were valid at one time, as known at another. */
function useStoreAt(storeId: string, { validAt, knownAt }: Moments) {
  const body = {
    query: '',
    budget_tokens: BUDGET_MAX,
    top_k: MEMORIES_MAX,
    view: 'full',
    ...(validAt === null ? {} : { as_of: formatTime(validAt) }),
    ...(knownAt === null ? {} : { known_at: formatTime(knownAt) }),
  } as const
  return useCall(memoryRetrieve, [storeId, body], { keep: true })
}

export function Timeline() {
  const storeId = String(useParams({ strict: false })['storeId'])
  const moments = useMoments()
  const { validAt, knownAt } = moments
  const pinned = useMoments('pin_')
  const then = useStoreAt(storeId, moments)
  const today = useStoreAt(storeId, pinned)
  const error = then.error ?? today.error
  return (
    <>
      <PageHeader
        title="Timeline"
        about={
          <>
            What{' '}
            <Link to="/stores/$storeId" params={{ storeId }} search={{}}>
              {storeId}
            </Link>{' '}
            held at one time, as it was known at another.
          </>
        }
        actions={<MomentActions />}
        request={then.request}
      />
      <Axes storeId={storeId} />
      {error && <ErrorState error={error} />}
      <ChosenMemory storeId={storeId} validAt={validAt ?? nowMs()} knownAt={knownAt ?? nowMs()} />
      {then.data && today.data ? (
        <Comparison
          then={then.data.memories}
          other={today.data.memories}
          otherName={pinned.validAt === null && pinned.knownAt === null ? 'now' : 'pinned'}
          storeId={storeId}
        />
      ) : (
        !error && <LoadingState />
      )}
    </>
  )
}

function MomentActions() {
  const { validAt, knownAt } = useMoments()
  const pinned = useMoments('pin_')
  const change = useUrlChange()
  const isPast = ({ validAt, knownAt }: Moments) => validAt !== null || knownAt !== null
  const textOf = (ms: number | null) => (ms === null ? '' : formatTime(ms))
  const reset = { valid_at: '', known_at: '', pin_valid_at: '', pin_known_at: '' }
  return (
    <>
      <CopyButton text={location.href} label="Copy a link to this moment" />
      {isPast({ validAt, knownAt }) && (
        <Button
          icon={Pin}
          onClick={() => change({ pin_valid_at: textOf(validAt), pin_known_at: textOf(knownAt) })}
        >
          Compare with this moment
        </Button>
      )}
      {(isPast({ validAt, knownAt }) || isPast(pinned)) && (
        <Button icon={RotateCcw} onClick={() => change(reset)}>
          Back to now
        </Button>
      )}
    </>
  )
}

/** Two sliders over the times of events in the store. */
function Axes({ storeId }: { readonly storeId: string }) {
  const { validAt, knownAt } = useMoments()
  const change = useUrlChange()
  const { data } = useCall(memoryMemories, [storeId, { limit: MEMORIES_MAX, order: 'newest' }])
  if (!data || data.memories.length === 0) return null
  const now = nowMs()
  const timesOf = (name: 'valid_from' | 'written_at') =>
    data.memories.flatMap((memory) => parseTime(memory[name]) ?? [])
  return (
    <div className={css['axes']}>
      <AxisSlider
        label="Valid at"
        hint="when it held in the world"
        times={timesOf('valid_from')}
        now={now}
        value={validAt}
        onChange={(ms) => change({ valid_at: ms === null ? '' : formatTime(ms) }, true)}
      />
      <AxisSlider
        label="Known at"
        hint="when it was on record here"
        times={timesOf('written_at')}
        now={now}
        value={knownAt}
        onChange={(ms) => change({ known_at: ms === null ? '' : formatTime(ms) }, true)}
      />
    </div>
  )
}

function ChosenMemory({
  storeId,
  ...moments
}: {
  readonly storeId: string
  readonly validAt: number
  readonly knownAt: number
}) {
  const [chosen, choose] = useUrlState('memory')
  const ref = Number(chosen)
  const enabled = chosen !== '' && Number.isSafeInteger(ref)
  const { data, error } = useCall(memoryHistory, [storeId, ref, { limit: 100 }], { enabled })
  if (!enabled) return null
  return (
    <Section
      title={`Versions of memory ${ref}`}
      about="To the right: when each held. Downwards: when it was recorded."
      actions={<Button onClick={() => choose('')}>Close</Button>}
    >
      {error && <ErrorState error={error} />}
      {data && <VersionLanes versions={data.versions} {...moments} />}
    </Section>
  )
}

/** The memories of both sides by number, each with its difference. */
function compare(then: readonly Found[], other: readonly Found[]) {
  const now = new Set(other.map(({ ref }) => ref))
  const before = new Set(then.map(({ ref }) => ref))
  const rows = [
    ...then.map((memory) => ({ memory, difference: now.has(memory.ref) ? 'same' : 'gone' })),
    ...other.flatMap((memory) => (before.has(memory.ref) ? [] : [{ memory, difference: 'new' }])),
  ]
  return rows.sort((a, b) => b.memory.ref - a.memory.ref) as readonly {
    memory: Found
    difference: 'same' | 'gone' | 'new'
  }[]
}

const WORDS = {
  now: { same: 'still so', gone: 'not any more', new: 'since then' },
  pinned: { same: 'in both', gone: 'not at the pinned moment', new: 'only at the pinned moment' },
} as const
const TONES = { same: 'plain', gone: 'warn', new: 'accent' } as const

function Comparison(props: {
  readonly then: readonly Found[]
  /** The memories to compare with: those of now or of the pinned times. */
  readonly other: readonly Found[]
  readonly otherName: 'now' | 'pinned'
  readonly storeId: string
}) {
  const { then, other, otherName, storeId } = props
  const [, choose] = useUrlState('memory')
  const rows = compare(then, other)
  if (rows.length === 0)
    return (
      <EmptyState title="The store held nothing at this moment">
        <p>Move the sliders, or write a memory first.</p>
      </EmptyState>
    )
  return (
    <Section
      title={`${counted(then.length, 'memory', 'memories')} then, ${other.length} ${otherName}`}
      about={then.length >= MEMORIES_MAX ? `The newest ${MEMORIES_MAX} are shown.` : undefined}
    >
      <ul className={css['rows']} aria-label="Memories then and now">
        {rows.map(({ memory, difference }) => (
          <li key={memory.ref} data-difference={difference}>
            <Link
              to="/stores/$storeId/memories/$ref"
              params={{ storeId, ref: String(memory.ref) }}
              search={{}}
            >
              {memory.ref}
            </Link>
            <span className={css['text']}>{memory.content}</span>
            <Pill tone={TONES[difference]}>{WORDS[otherName][difference]}</Pill>
            <Button
              kind="quiet"
              icon={Link2}
              aria-label={`Versions of memory ${memory.ref}`}
              onClick={() => choose(String(memory.ref))}
            >
              Versions
            </Button>
          </li>
        ))}
      </ul>
    </Section>
  )
}

const STEPS = 1_000

function AxisSlider(props: {
  readonly label: string
  readonly hint: string
  /** The times of events, in milliseconds. */
  readonly times: readonly number[]
  readonly now: number
  /** The chosen time in milliseconds; null means now. */
  readonly value: number | null
  readonly onChange: (ms: number | null) => void
}) {
  const { label, hint, times, now, value, onChange } = props
  const past = times.filter((ms) => ms <= now)
  const first = Math.min(...past, value ?? now, now - 1)
  const begin = first - (now - first) * 0.02
  const at = value ?? now
  const position = Math.round(((at - begin) / (now - begin)) * STEPS)
  const text = value === null ? 'now' : formatTime(value).slice(0, 19).replace('T', ' ')
  const id = `axis-${label.replaceAll(' ', '-')}`
  return (
    <div className={css['axis']}>
      <div className={css['axisHead']}>
        <label htmlFor={id}>
          <strong>{label}</strong> {hint}
        </label>
        <input
          type="datetime-local"
          step={1}
          aria-label={`${label}, exact time (UTC)`}
          value={formatTime(at).slice(0, 19)}
          onChange={({ target }) => onChange(parseTime(`${target.value}Z`))}
        />
      </div>
      <input
        id={id}
        type="range"
        min={0}
        max={STEPS}
        value={Math.min(STEPS, Math.max(0, position))}
        aria-valuetext={text}
        onChange={({ target }) => {
          const step = Number(target.value)
          onChange(step >= STEPS ? null : Math.round(begin + (step / STEPS) * (now - begin)))
        }}
      />
      <svg viewBox={`0 0 ${STEPS} 10`} preserveAspectRatio="none" aria-hidden="true">
        {past.map((ms, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: marks have no identity
          <rect key={i} x={((ms - begin) / (now - begin)) * STEPS} width={2} height={10} />
        ))}
      </svg>
      <span className={css['moment']}>{text}</span>
    </div>
  )
}
