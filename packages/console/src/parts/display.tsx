// Small ways to show values: facts in pairs, a state, a share of a whole, numbers, cosignatures.

import type { Epoch } from '@custos/client/types'
import type { ReactNode } from 'react'
import css from './display.module.css'
import { Time } from './time.tsx'

/** Names and values of one record, without the pairs that have no value. */
export function Facts({ of }: { readonly of: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className={css['facts']}>
      {of
        .filter(
          ([, value]) => value !== null && value !== undefined && value !== '' && value !== false,
        )
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** A state as a word. Its colour only repeats the word. */
export const Pill = ({
  tone = 'plain',
  children,
}: {
  readonly tone?: 'plain' | 'good' | 'warn' | 'bad' | 'accent'
  readonly children: ReactNode
}) => (
  <span className={css['pill']} data-tone={tone}>
    {children}
  </span>
)

/** The used share of a whole, as a bar with numbers. */
export function Meter(props: {
  readonly label: string
  readonly value: number
  readonly max: number
}) {
  const { label, value, max } = props
  const share = max > 0 ? Math.min(1, value / max) : 0
  return (
    <div className={css['meter']}>
      <span>
        {label} <strong>{formatNumber(value)}</strong> of {formatNumber(max)}
      </span>
      <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
        <rect className={css['track']} width="100" height="1" />
        <rect className={css['fill']} width={share * 100} height="1" data-full={share >= 1} />
      </svg>
    </div>
  )
}

/** The key numbers at the top of a screen. */
export function Figures({ children }: { readonly children: ReactNode }) {
  return <div className={css['figures']}>{children}</div>
}

export function Figure(props: {
  readonly label: string
  readonly value: number | null | undefined
  readonly children?: ReactNode
}) {
  const { label, value, children } = props
  return (
    <div className={css['figure']}>
      <span className={css['label']}>{label}</span>
      <span className={css['number']}>{value == null ? '–' : formatNumber(value)}</span>
      {children}
    </div>
  )
}

const NUMBERS = new Intl.NumberFormat('en')

export const formatNumber = (value: number): string => NUMBERS.format(value)

/** A number with its noun: `1 store`, `2 stores`. */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${formatNumber(value)} ${value === 1 ? one : many}`

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const

export function formatBytes(bytes: number): string {
  const step = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(bytes || 1) / 3)))
  const value = bytes / 1_000 ** step
  return `${value >= 100 || step === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[step]}`
}

/** Converts a name of the API to words: `below_min_score` becomes `below min score`. */
export const inWords = (name: string): string => name.replaceAll(/[._]/g, ' ')

/** What others signed of a checkpoint, in words. Null: the operator has no witnesses. */
export const describeWitnesses = ({
  cosignatures,
  witnessed,
}: Pick<Epoch, 'cosignatures' | 'witnessed'>): string | null =>
  witnessed === null
    ? null
    : `${cosignatures.length} cosigned it, ${witnessed ? '' : 'not yet '}enough`

export const cosignatureRows = (
  checkpoint: Pick<Epoch, 'cosignatures' | 'witnessed' | 'timestamp'>,
) =>
  [
    ['Witnesses', describeWitnesses(checkpoint)],
    ['Timestamp', checkpoint.timestamp && <Time key="d" value={checkpoint.timestamp.stamped_at} />],
  ] as const
