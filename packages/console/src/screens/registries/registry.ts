// The description of a registry for the screens that all registries share.

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

/** The service's reply to the verification of a record. */
interface ServiceVerdict {
  readonly passed: boolean
  readonly checks: CheckResults
  readonly not_checked: readonly string[]
  readonly reason: string | null
}

/** One field of the form of a new record. */
export interface RegisterField {
  readonly name: string
  readonly label: string
  readonly hint?: string
  /** The kind of input; absent for one line of text. */
  readonly kind?: 'lines' | 'json'
  readonly options?: readonly (readonly [value: string, text: string])[]
  readonly initial?: string
  readonly optional?: boolean
}

export type FilledFields = Readonly<Record<string, string>>

export interface RegistrySpec<Row extends RecordRow, One extends RecordRow> {
  readonly title: string
  readonly about: string
  /** The title of a record in the list and on its own page. */
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
  /** Shows the members of a record. */
  readonly Members: ComponentType<{ readonly record: One }>
  /** Actions on one record, besides approving and rejecting. */
  readonly Acts?: ComponentType<{ readonly record: One }>
  /** Actions on the registry, besides registering. */
  readonly ListActs?: ComponentType
  readonly admin: Scope
  readonly register: {
    readonly verb: string
    readonly fields: readonly RegisterField[]
    /** Sends the filled form. Returns the id of the new record. */
    readonly send: (filled: FilledFields) => Promise<string>
  }
}

/** A registry with its two pages. */
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

/** Parses a JSON object. Throws an error with a message for people. */
export function objectOf(text: string | undefined, name: string): { [key: string]: unknown } {
  try {
    const value: unknown = JSON.parse(text || '{}')
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // The error below covers this.
  }
  throw new Error(`${name} is not a JSON object`)
}

const TIERS: readonly TrustTier[] = ['untrusted', 'basic', 'verified', 'trusted', 'release', 'root']

/** The fields for the authority of a new record. */
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
