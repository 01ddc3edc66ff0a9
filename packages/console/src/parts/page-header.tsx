// The head of every screen: title, one line about it, actions, and the call behind it.

import type { ReactNode } from 'react'
import type { CallRequest } from '../api/use-call.ts'
import css from './page-header.module.css'
import { RequestMenu } from './request-menu.tsx'

export function PageHeader(props: {
  readonly title: string
  readonly about?: ReactNode
  readonly actions?: ReactNode
  /** The main call of the screen, for "as curl". */
  readonly request?: CallRequest | undefined
}) {
  const { title, about, actions, request } = props
  return (
    <header className={css['header']}>
      {/* React hoists it into the head. */}
      <title>{`${title} · Custos`}</title>
      <div className={css['words']}>
        <h1>{title}</h1>
        {about && <p>{about}</p>}
      </div>
      <div className={css['actions']}>
        {actions}
        {request && <RequestMenu request={request} />}
      </div>
    </header>
  )
}

/** A titled part of a screen. */
export function Section(props: {
  readonly title: string
  readonly about?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}) {
  const { title, about, actions, children } = props
  return (
    <section className={css['section']}>
      <div className={css['sectionHead']}>
        <div>
          <h2>{title}</h2>
          {about && <p>{about}</p>}
        </div>
        {actions && <div className={css['actions']}>{actions}</div>}
      </div>
      {children}
    </section>
  )
}
