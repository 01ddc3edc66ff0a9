// Draws the versions of one memory on both time axes: valid time to the right, transaction time
// downwards.

import type { MemoryVersion } from '@custos/client/types'
import { formatTime, parseTime } from '../../ambient.ts'
import css from './timeline.module.css'

const WIDTH = 900
const LANE = 46
const LEFT = 100
const TOP = 30

const lanesOf = (versions: readonly MemoryVersion[]) =>
  versions.map((version) => ({
    version,
    from: parseTime(version.valid_from) ?? 0,
    until: version.valid_until === null ? null : parseTime(version.valid_until),
    written: version.memory ? parseTime(version.memory.written_at) : null,
  }))

const day = (ms: number): string => formatTime(ms).slice(0, 10)

/** The moments are those of the two sliders, in milliseconds. */
export function VersionLanes(props: {
  readonly versions: readonly MemoryVersion[]
  readonly validAt: number
  readonly knownAt: number
}) {
  const { versions, validAt, knownAt } = props
  const lanes = lanesOf(versions)
  const begin = Math.min(...lanes.map(({ from }) => from), validAt)
  const last = Math.max(...lanes.map(({ from, until }) => until ?? from), validAt)
  const end = last + Math.max(1, last - begin) * 0.08
  const x = (ms: number) => LEFT + ((ms - begin) / (end - begin)) * (WIDTH - LEFT - 20)
  const height = TOP + lanes.length * LANE + 24
  const isKnown = (written: number | null) => written === null || written <= knownAt
  const onRecord = lanes.filter(({ written }) => isKnown(written)).length
  const knownY = TOP + onRecord * LANE - 4
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
    <section className={css['scroll']} tabIndex={0} aria-label="Version lanes">
      <svg
        className={css['lanes']}
        viewBox={`0 0 ${WIDTH} ${height}`}
        role="img"
        aria-label={`${versions.length} versions over valid time and time of record`}
      >
        <text x={LEFT} y={16}>
          {day(begin)}
        </text>
        <text x={WIDTH - 20} y={16} textAnchor="end">
          {day(end)}
        </text>
        {lanes.map((lane, i) => {
          const y = TOP + i * LANE
          const next = lanes[i + 1]
          const stop = lane.until === null ? WIDTH - 20 : x(lane.until)
          return (
            <g
              key={lane.version.ref}
              data-known={isKnown(lane.written)}
              data-erased={lane.version.erased}
            >
              <text x={12} y={y + 15} className={css['mark']}>
                {lane.version.ref}
              </text>
              <text x={12} y={y + 30}>
                {lane.written === null ? '' : day(lane.written)}
              </text>
              <rect
                x={x(lane.from)}
                y={y + 6}
                width={Math.max(3, stop - x(lane.from))}
                height={24}
                rx={4}
              />
              <text className={css['mark']} x={x(lane.from) + 6} y={y + 22}>
                {lane.version.erased ? 'erased' : `log ${lane.version.log_seq}`}
              </text>
              {next && (
                <path d={`M${x(next.from)} ${y + 30} v${LANE - 24}`} className={css['arrow']} />
              )}
            </g>
          )
        })}
        <line className={css['cursor']} x1={12} x2={WIDTH - 20} y1={knownY} y2={knownY} />
        <text className={css['cursorText']} x={12} y={knownY + 14}>
          known at
        </text>
        <line
          className={css['cursor']}
          x1={x(validAt)}
          x2={x(validAt)}
          y1={TOP - 6}
          y2={height - 20}
        />
        <text
          className={css['cursorText']}
          x={Math.min(x(validAt), WIDTH - 60)}
          y={height - 6}
          textAnchor="middle"
        >
          valid at
        </text>
      </svg>
    </section>
  )
}
