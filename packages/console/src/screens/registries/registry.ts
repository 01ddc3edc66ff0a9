// What a registry tells the screens that all registries share.

import type { Operation, Pending } from '@custos/client/core'
import type { Artifact, Authority, CheckResults, TrustTier } from '@custos/client/types'
import type { ComponentType, ReactNode } from 'react'
import type { Scope } from '../../api/session.tsx'
import type { CallRequest, ListResult } from '../../api/use-call.ts'
import type { Column } from '../../parts/table.tsx'

/** The members that every record has. */
export type RecordRow = Pick<
  Artifact,
  | 'status'
  | 'redacted'
  | 'proposal_digest'
  | 'approval_request_id'
  | 'approval'
  | 'reason'
  | 'requested_by'
  | 'key_id'
  | 'created_at'
> & { readonly document: object | null }

/** What the service answers when it verifies a record. */
interface ServiceVerdict {
  readonly passed: boolean
  readonly checks: CheckResults
  readonly not_checked: readonly string[]
  readonly reason: string | null
}

/** One thing to fill in before a record is made. */
export interface RegisterField {
  readonly name: string
  readonly label: string
  readonly hint?: string
  /** Absent: one line of text. */
  readonly kind?: 'lines' | 'json'
  readonly options?: readonly (readonly [value: string, text: string])[]
  readonly initial?: string
  readonly optional?: boolean
}

export type FilledFields = Readonly<Record<string, string>>

export interface RegistrySpec<Row extends RecordRow, One extends RecordRow> {
  readonly title: string
  readonly about: string
  /** The title of a record of the list and of its own page. */
  readonly nameOf: (row: Row | One) => string
  readonly idOf: (row: Row | One) => string
  readonly columns: readonly Column<Row>[]
  readonly useRows: () => ListResult<Row>
  readonly useCounts: () => Readonly<Record<string, number>> | undefined
  readonly useOne: (id: string) => {
    readonly data: One | undefined
    readonly error: Error | null
    readonly request: CallRequest
  }
  readonly verify: Operation<[id: string], Pending<ServiceVerdict>>
  readonly facts: (one: One) => readonly (readonly [string, ReactNode])[]
  /** What the record consists of. */
  readonly Members: ComponentType<{ readonly record: One }>
  /** Acts on one record, beside approving and rejecting. */
  readonly Acts?: ComponentType<{ readonly record: One }>
  /** Acts on the registry, beside registering. */
  readonly ListActs?: ComponentType
  readonly admin: Scope
  readonly register: {
    readonly verb: string
    readonly fields: readonly RegisterField[]
    /** Sends what was filled in; the id of the record that was made. */
    readonly send: (filled: FilledFields) => Promise<string>
  }
}

/** A registry as the two pages of it. */
export interface Registry {
  readonly id: string
  readonly title: string
  readonly scope: Scope
  readonly List: ComponentType
  readonly Record: ComponentType<{ readonly id: string }>
}

/** The lines of a text that are not empty. */
export const linesOf = (text: string | undefined): string[] =>
  (text ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** An object of JSON text; throws in words for people. */
export function objectOf(text: string | undefined, name: string): { [key: string]: unknown } {
  try {
    const value: unknown = JSON.parse(text || '{}')
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // The text below says it.
  }
  throw new Error(`${name} is not a JSON object`)
}

const TIERS: readonly TrustTier[] = ['untrusted', 'basic', 'verified', 'trusted', 'release', 'root']

/** Under whose authority a record is asked for. */
export const AUTHORITY_FIELDS: readonly RegisterField[] = [
  { name: 'person', label: 'On behalf of', hint: 'The person who answers for it', optional: true },
  { name: 'delegation', label: 'Reference of the delegation', optional: true },
  {
    name: 'tier',
    label: 'Trust tier',
    hint: 'As claimed; the credential caps it',
    options: TIERS.map((tier) => [tier, tier] as const),
    initial: 'verified',
  },
]

export function authorityOf({ person, delegation, tier }: FilledFields): Authority {
  return {
    ...(person ? { human_principal: person } : {}),
    ...(delegation ? { delegation_ref: delegation } : {}),
    trust_tier: TIERS.find((one) => one === tier) ?? 'verified',
  }
}
