// One call of one operation: who calls, what it may refuse, and its ways to the data.

import {
  type AcceptedReply,
  type CredentialClass,
  type EventStreamReply,
  type FileReply,
  type InputOf,
  type OperationSpec,
  type PreviewReply,
  REPLY_KIND,
  type RedirectReply,
  type RefusalOf,
  type ReplyOf,
  type Scope,
  type StreamReply,
  type TrustTier,
} from '@custos/contract'
import type { TenantDb, Tx } from '../db/tenant-db.ts'
import type { RawJson } from '../raw-json.ts'
import type { Refusal, RefusalExtras } from '../refusal.ts'
import type { Kernel } from './kernel.ts'

/** The authenticated caller; tenant identity comes from here and nowhere else. */
export interface Principal {
  readonly kind: 'local' | 'tenant' | 'operator' | 'anonymous'
  /** Empty for operators and anonymous callers. */
  readonly tenant_id: string
  /** `local`, `bootstrap` or the id of a stored key: an id we minted, safe to log. */
  readonly key_id: string
  readonly class: CredentialClass | 'local'
  readonly scopes: readonly Scope[]
  /** The stores it may use; empty if it may use every store of the tenant. */
  readonly allowed_stores: readonly string[]
  /** The only namespace it may use (`null` is the root). Absent if it may use every namespace. */
  readonly namespace?: string | null
  /** The highest trust tier that its writes may claim; `null` if there is no maximum. */
  readonly max_trust_tier?: TrustTier | null
  /** When the credential expires; `null` or absent if never. */
  readonly expires_us?: number | null
  /**
   * Number of the tenant's policy set when the credential was looked up; 0 if there are no
   * policies. Set only where other processes may change the policies.
   */
  readonly policy_set?: number
  /**
   * The person who calls, in a session or with a key that they created; absent if unknown. In a
   * session without a key, `key_id` has the same value.
   */
  readonly user_id?: string
  /** The session of the call; absent if the caller presented a key. */
  readonly session?: {
    readonly session_id: string
    /** Proves that a page of the service made the request; `null` if no cookie was sent. */
    readonly csrf_token: string | null
    /** When the session ends if it is not used. */
    readonly ends_us: number
  }
  /** The plan of the tenant. Set only for a stored key of a tenant; see `limitsAt`. */
  readonly plan?: { readonly plan: string; readonly overrides: string | null }
}

/** The id that is accountable for an action: the person, whatever key they use, or else the key. */
export const actorOf = ({ user_id, key_id }: Pick<Principal, 'user_id' | 'key_id'>): string =>
  user_id ?? key_id

/** A cookie that an answer sets; an empty `value` removes it. */
export interface AnswerCookie {
  readonly name: 'session' | 'login'
  readonly value: string
  readonly max_age_s: number
}

/** The ids that the first run stores for a retry, enough to render the same answer from rows. */
export type ReplayIds = Readonly<Record<string, unknown>>

export interface IdempotentUnit<T> {
  /** The unit of work; `ids` are stored with the idempotency key. */
  run(tx: Tx): Promise<{ reply: T; ids: ReplayIds }>
  /** Renders the answer of an earlier run from its rows. */
  replay(tx: Tx, ids: ReplayIds): Promise<T>
}

/** Stores, in a unit of work, what a retry will find. */
type Note<T> = (tx: Tx, soFar: T) => Promise<void>

export interface Notes<T> {
  /** Runs in every unit but the last. */
  readonly open: Note<T>
  /** Prepares the note of the last unit. Call it before that unit, once the whole body is read. */
  close(): Promise<Note<T>>
}

/** An operation of several units of work whose answer holds ids and numbers only. */
export interface InParts<T extends ReplayIds> {
  /** Calls `notes` in its units of work; `notes` is null if there is no Idempotency-Key. */
  run(notes: Notes<T> | null): Promise<T>
  /** The refusal that a retry gets when the first run was interrupted. */
  interrupted(soFar: T): Refusal
}

export interface Call<S extends OperationSpec = OperationSpec> {
  readonly operation: S
  readonly request_id: string
  readonly principal: Principal
  /** The tenant acted on: the credential's tenant, or the one an operator names in the path. */
  readonly tenant_id: string
  /** Value of the Idempotency-Key header; null if it was not sent or the operation ignores it. */
  readonly idempotency_key: string | null
  /** The value of a header that the operation declares, or null if it was not sent. */
  header(name: string): string | null
  /** The value of a cookie that the browser sent, or null. */
  cookie(name: AnswerCookie['name']): string | null
  /** Sets a cookie that scripts cannot read, for this service only. */
  setCookie(cookie: AnswerCookie): void
  readonly kernel: Kernel
  /** Address of the client: the one a trusted proxy reports, or that of the connection. */
  readonly address: string
  /** Aborted when the connection closes: nobody reads an answer that is sent after that. */
  readonly gone: AbortSignal
  /** Ends the operation with a declared code; inside a unit of work, rolls it back. */
  refuse(code: RefusalOf<S>, message?: string, extras?: RefusalExtras): never
  read<T>(query: (db: TenantDb) => Promise<T>): Promise<T>
  transact<T>(unit: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * A unit of work that honours Idempotency-Key. The first run commits its record together with the
   * rows. The same key with the same body replays the answer; another body is refused (409).
   * @param tenant_id where the unit runs, for an operation that creates the tenant
   */
  once<T>(unit: IdempotentUnit<T>, tenant_id?: string): Promise<T>
  /** The same for an operation of several units of work, which are not rolled back together. */
  inParts<T extends ReplayIds>(parts: InParts<T>): Promise<T>
}

/** Answers 202: the request waits for a person. */
export const accepted = <T>(body: T): AcceptedReply<T> => ({
  [REPLY_KIND]: 'accepted',
  accepted: body,
})

/** Answers 200 with what would be done. */
export const previewed = <T>(body: T): PreviewReply<T> => ({
  [REPLY_KIND]: 'preview',
  previewed: body,
})

/** Answers 302, which sends the browser to another page. */
export const redirect = (location: string): RedirectReply => ({
  [REPLY_KIND]: 'redirect',
  location,
})

/** Answers 200 and streams lines as they are produced. */
export const streamed = (reply: Omit<StreamReply, typeof REPLY_KIND>): StreamReply => ({
  [REPLY_KIND]: 'stream',
  ...reply,
})

/** Answers 200 with server-sent events, for as long as the stream lasts. */
export const eventStream = (
  reply: Omit<EventStreamReply, typeof REPLY_KIND>,
): EventStreamReply => ({
  [REPLY_KIND]: 'events',
  ...reply,
})

/** Answers 200 with a file. */
export const fileReply = (reply: Omit<FileReply, typeof REPLY_KIND>): FileReply => ({
  [REPLY_KIND]: 'file',
  ...reply,
})

export type Handler<S extends OperationSpec> = (
  call: Call<S>,
  input: InputOf<S>,
) => Promise<ReplyOf<S> | RawJson<ReplyOf<S>>>

/** The handlers of a contract. A slice that lacks one for an operation does not compile. */
export type HandlersOf<C extends Readonly<Record<string, OperationSpec>>> = {
  readonly [K in keyof C]: Handler<C[K]>
}
