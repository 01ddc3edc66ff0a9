// The steps of a task on one page: finished, current and later ones.

import { type ReactNode, useEffect, useRef } from 'react'
import css from './erasure.module.css'

interface StepProps {
  readonly title: string
  readonly state: 'done' | 'now' | 'later'
  /** The choice that was made, shown after the step is done. */
  readonly summary?: ReactNode
  readonly children?: ReactNode
}

export function Steps({
  label,
  children,
}: {
  readonly label: string
  readonly children: ReactNode
}) {
  return (
    <ol className={css['steps']} aria-label={label}>
      {children}
    </ol>
  )
}

/** The heading gets the focus when the step is reached, so that keyboard use continues there. */
export function Step({ title, state, summary, children }: StepProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  const before = useRef(state)
  useEffect(() => {
    if (before.current !== state && state === 'now') heading.current?.focus()
    before.current = state
  }, [state])
  return (
    <li
      className={css['step']}
      data-state={state}
      aria-current={state === 'now' ? 'step' : undefined}
    >
      <h2 ref={heading} tabIndex={-1}>
        {title}
        {state === 'done' && <span className="visually-hidden"> (done)</span>}
      </h2>
      {state === 'done' && summary && <div className={css['summary']}>{summary}</div>}
      {state === 'now' && <div className={css['stepBody']}>{children}</div>}
    </li>
  )
}
