// What the tasks that erase share: their steps on one page (done, asked for now, later), and the
// reason, as the certificate says it for ever.

import { type ReactNode, useEffect, useRef } from 'react'
import { SelectField, TextField } from '../../parts/form.tsx'
import css from './erasure.module.css'

export function Steps(props: { readonly label: string; readonly children: ReactNode }) {
  const { label, children } = props
  return (
    <ol className={css['steps']} aria-label={label}>
      {children}
    </ol>
  )
}

/** The heading gets the focus when the step is reached, so that keyboard use continues there. */
export function Step(props: {
  readonly title: string
  readonly state: 'done' | 'now' | 'later'
  /** The choice that was made, shown after the step is done. */
  readonly summary?: ReactNode
  readonly children?: ReactNode
}) {
  const { title, state, summary, children } = props
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

export interface ErasureReason {
  readonly legal_basis: string
  readonly requested_by: string
}

const BASES = [
  'GDPR Article 17 — Right to Erasure',
  'GDPR Article 17(1)(a): no longer necessary',
  'GDPR Article 17(1)(b): consent withdrawn',
  'GDPR Article 17(1)(c): objection',
  'GDPR Article 17(1)(d): unlawful processing',
  'GDPR Article 17(1)(e): legal obligation',
] as const

export const FIRST_REASON: ErasureReason = { legal_basis: BASES[0], requested_by: 'data_subject' }

export function ReasonFields(props: {
  readonly value: ErasureReason
  readonly onChange: (value: ErasureReason) => void
}) {
  const { value, onChange } = props
  const known = BASES.some((basis) => basis === value.legal_basis)
  return (
    <>
      <p>Both become part of the certificate for ever. Name no person in them.</p>
      <SelectField
        label="Legal basis"
        value={known ? value.legal_basis : ''}
        onChange={(legal_basis) => onChange({ ...value, legal_basis })}
        options={[...BASES.map((basis) => [basis, basis] as const), ['', 'Another one']]}
      />
      {!known && (
        <TextField
          label="The other legal basis"
          required
          maxLength={256}
          value={value.legal_basis}
          onChange={(legal_basis) => onChange({ ...value, legal_basis })}
        />
      )}
      <TextField
        label="Requested by"
        hint="A role, for example data_subject or legal department"
        required
        maxLength={256}
        value={value.requested_by}
        onChange={(requested_by) => onChange({ ...value, requested_by })}
      />
    </>
  )
}
