// The states of a screen without content: loading, empty, not found, or failed.

import { ApiError } from '@custos/client'
import { CircleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import css from './states.module.css'

export function LoadingState() {
  return (
    <div className={css['loading']} role="status">
      <span className="visually-hidden">Loading</span>
    </div>
  )
}

export function EmptyState(props: { readonly title: string; readonly children?: ReactNode }) {
  const { title, children } = props
  return (
    <div className={css['empty']}>
      <h2>{title}</h2>
      {children}
    </div>
  )
}

export const NotFoundState = () => (
  <EmptyState title="There is no such page">
    <p>The address may be wrong, or the screen may belong to a newer version.</p>
  </EmptyState>
)

/** The text of a refusal. Policies and registries refuse with objects, which arrive as JSON. */
function wordsOf(detail: string): string {
  try {
    const { name, reason, reasons } = JSON.parse(detail)
    if (name && reason) return `${name}: ${reason}`
    return Array.isArray(reasons) ? reasons.join('; ') : detail
  } catch {
    return detail
  }
}

/** Shows a failure with the error code and the request id, which support needs. */
export function ErrorState({ error }: { readonly error: unknown }) {
  const refusal = error instanceof ApiError ? error : null
  const title = refusal ? refusal.title : 'That did not work'
  const text = error instanceof Error ? error.message : String(error)
  const detail = refusal ? refusal.detail : text
  return (
    <div className={css['error']} role="alert">
      <CircleAlert size={18} aria-hidden />
      <div>
        <strong>{title}</strong>
        {detail !== title && <p>{wordsOf(detail)}</p>}
        {refusal && (
          <p className={css['fine']}>
            <a href={`/errors/${encodeURIComponent(refusal.code)}`}>
              <code>{refusal.code}</code>
            </a>{' '}
            {refusal.status}
            {refusal.requestId && (
              <>
                {' · request '}
                <code>{refusal.requestId}</code>
              </>
            )}
          </p>
        )}
      </div>
    </div>
  )
}
