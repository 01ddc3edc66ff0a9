// The kind, the state and the due date of a subject request in words.

import type { SubjectRequest } from '@custos/client/types'
import { nowMs, parseTime } from '../../ambient.ts'
import { Pill } from '../../parts/display.tsx'

const DAY_MS = 86_400_000
const SOON_DAYS = 7

export const KINDS = { erase: 'Erasure', access: 'Access' } as const

const STATES = {
  queued: ['plain', 'queued'],
  running: ['accent', 'running'],
  done: ['good', 'done'],
  done_with_holds: ['warn', 'done, some kept'],
} as const

export const isDone = ({ status }: SubjectRequest): boolean =>
  status === 'done' || status === 'done_with_holds'

/** The total number of records that a request found. */
export const totalOf = (found: SubjectRequest['found']): number =>
  found.facts + found.decisions_using + found.decisions_naming + found.texts

export function StatusPill({ request }: { readonly request: SubjectRequest }) {
  const [tone, text] = STATES[request.status]
  return <Pill tone={tone}>{text}</Pill>
}

export function DuePill({ request }: { readonly request: SubjectRequest }) {
  if (isDone(request)) return <Pill>answered</Pill>
  const due = parseTime(request.due_at)
  if (due === null) return null
  const days = Math.ceil((due - nowMs()) / DAY_MS)
  if (request.overdue || days < 0) return <Pill tone="bad">overdue by {Math.abs(days)} d</Pill>
  return <Pill tone={days <= SOON_DAYS ? 'warn' : 'plain'}>{days} d left</Pill>
}
