// One axis of time: a slider over the times at which something happened, and the exact moment.

import { formatTime, parseTime } from '../../ambient.ts'
import css from './timeline.module.css'

interface AxisSliderProps {
  readonly label: string
  readonly hint: string
  /** The times of events, in milliseconds. */
  readonly times: readonly number[]
  readonly now: number
  /** The chosen time in milliseconds; null means now. */
  readonly value: number | null
  readonly onChange: (ms: number | null) => void
}

const STEPS = 1_000

export function AxisSlider({ label, hint, times, now, value, onChange }: AxisSliderProps) {
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
