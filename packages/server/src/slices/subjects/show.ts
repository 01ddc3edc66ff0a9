// Shows a request as replies do, and converts the names of its items.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import {
  SUBJECT_KINDS,
  SUBJECT_STATUSES,
  type SubjectRequest,
  TEXT_KINDS,
  type TextKind,
} from '@custos/contract'
import type { ManifestEntry } from '@custos/proof'
import { toHex } from '../../platform/bytes.ts'
import { formatTime } from '../../platform/clock.ts'
import type { RequestRow } from './subjects.sql.ts'

const timeOrNull = (us: number | null): string | null => (us === null ? null : formatTime(us))

// Only this slice writes both columns.
function oneOf<T extends string>(values: readonly T[], text: string): T {
  const found = values.find((value) => value === text)
  assert(found !== undefined, 'a request has an unknown kind or state')
  return found
}

export function showRequest(tenant_id: string, row: RequestRow, now_us: number): SubjectRequest {
  return {
    request_id: toHex(row.request_id),
    tenant_id,
    kind: oneOf(SUBJECT_KINDS, row.kind),
    status: oneOf(SUBJECT_STATUSES, row.status),
    job_id: row.job_id,
    found: countFindings(row),
    digest: toHex(row.found_digest),
    log_seq: row.log_seq,
    find_label: toHex(row.find_label),
    received_at: formatTime(row.received_us),
    due_at: formatTime(row.due_us),
    extended_at: timeOrNull(row.extended_us),
    overdue: row.completed_us === null && row.due_us < now_us,
    created_at: formatTime(row.created_us),
    started_at: timeOrNull(row.started_us),
    completed_at: timeOrNull(row.completed_us),
    progress: { done: row.items_done, total: row.items },
    requested_with: row.made_by,
  }
}

export const countFindings = (row: RequestRow) => ({
  facts: row.facts,
  superseded_facts: row.superseded_facts,
  decisions_using: row.decisions_using,
  decisions_naming: row.decisions_naming,
  texts: row.texts ?? 0,
  held: row.held,
})

const REF_DIGITS = 16

/** Prefixes sort memories before decisions, and decisions before other records; refs by number. */
export const FACTS = '1:'
export const DECISIONS = '2:'
export const TEXTS = '3:'

/** A record that is neither a memory nor a decision. */
export interface TextItem {
  readonly kind: TextKind
  readonly id: string
}

export const itemOfFact = (ref: number): string =>
  `${FACTS}${String(ref).padStart(REF_DIGITS, '0')}`

export const itemOfDecision = (decision_id: string): string => `${DECISIONS}${decision_id}`

export const itemOfText = ({ kind, id }: TextItem): string => `${TEXTS}${kind}/${id}`

export function textOf(item: string): TextItem {
  const at = item.indexOf('/')
  const kind = oneOf(TEXT_KINDS, item.slice(TEXTS.length, at))
  return { kind, id: item.slice(at + 1) }
}

export const refOf = (item: string): number => Number(item.slice(FACTS.length))

export const decisionOf = (item: string): string => item.slice(DECISIONS.length)

/** The item as a manifest identifies it. */
export function subjectOf(item: string): Omit<ManifestEntry, 'outcome'> {
  if (item.startsWith(FACTS)) return { ...NO_CERTIFICATE, fact_ref: refOf(item) }
  if (item.startsWith(DECISIONS)) return { ...NO_CERTIFICATE, decision_id: decisionOf(item) }
  const { kind, id } = textOf(item)
  return { ...NO_CERTIFICATE, subject_kind: kind, subject_id: id }
}

const NO_CERTIFICATE = { certificate_id: null, certificate_digest: null } as const

/** Hex SHA-256 over the items, one line per item, in their order. */
export const digestOf = (items: readonly string[]): string =>
  hash(
    'sha256',
    [...items]
      .sort()
      .map((item) => `${item}\n`)
      .join(''),
  )
