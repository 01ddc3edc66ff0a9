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
  /** Empty: every store of the tenant. */
  readonly allowed_stores: readonly string[]
  /** The only namespace it may use; null: the root. Absent: every namespace. */
  readonly namespace?: string | null
  /** The most a claim of trust may be; null: whatever is claimed. */
  readonly max_trust_tier?: TrustTier | null
  /** When it ends; null or absent: never. */
  readonly expires_us?: number | null
  /**
   * The number of the tenant's policies when the credential was looked up, where other processes
   * may change them; 0: there are none.
   */
  readonly policy_set?: number
  /**
   * The person who calls, in a session or with a key they made; absent: nobody known. In a session
   * without a key `key_id` is the same.
   */
  readonly user_id?: string
  /** The session it calls in; absent: it presented a key. */
  readonly session?: {
    readonly session_id: string
    /** Shows that a request was made by a page of the service; null: no cookie was sent. */
    readonly csrf_token: string | null
    /** When it ends, if not used. */
    readonly ends_us: number
  }
  /** The plan of its tenant, of a stored key of a tenant; see `limitsAt`. */
  readonly plan?: { readonly plan: string; readonly overrides: string | null }
}

/** Who is held to what they did: a person, whatever key they use, or else the key. */
export const actorOf = ({ user_id, key_id }: Pick<Principal, 'user_id' | 'key_id'>): string =>
  user_id ?? key_id

/** A cookie that an answer sets; `value` empty: it is removed. */
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

/** Notes, in a unit of work, what a retry is to find. */
type Note<T> = (tx: Tx, soFar: T) => Promise<void>

export interface Notes<T> {
  /** For every unit but the last. */
  readonly open: Note<T>
  /** For the last unit, made before it and once the whole body is read. */
  close(): Promise<Note<T>>
}

/** An operation of several units of work whose answer holds ids and numbers only. */
export interface InParts<T extends ReplayIds> {
  /** `notes` belong into its units; null without an Idempotency-Key. */
  run(notes: Notes<T> | null): Promise<T>
  /** The refusal for a retry of a run that was interrupted. */
  interrupted(soFar: T): Refusal
}

export interface Call<S extends OperationSpec = OperationSpec> {
  readonly operation: S
  readonly request_id: string
  readonly principal: Principal
  /** The tenant acted on: the credential's, or the one an operator names in the path. */
  readonly tenant_id: string
  /** The header's value, where the operation honours it. */
  readonly idempotency_key: string | null
  /** The value of a header that the operation declares; null: it was not sent. */
  header(name: string): string | null
  /** The cookie that the browser sent; null: none. */
  cookie(name: AnswerCookie['name']): string | null
  /** Sets a cookie that scripts cannot read, for this service only. */
  setCookie(cookie: AnswerCookie): void
  readonly kernel: Kernel
  /** Where the request came from: an address of a proxy's client, or of the connection. */
  readonly address: string
  /** Aborted when the connection ends: an answer that is not out yet, nobody reads. */
  readonly gone: AbortSignal
  /** Ends the operation with a declared code; inside a unit of work, rolls it back. */
  refuse(code: RefusalOf<S>, message?: string, extras?: RefusalExtras): never
  read<T>(query: (db: TenantDb) => Promise<T>): Promise<T>
  transact<T>(unit: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * A unit of work that honours Idempotency-Key: the first run commits its record together with
   * the rows; the same key with the same body replays; with another body it is refused (409).
   * @param tenant_id where the unit runs, for an operation that makes the tenant
   */
  once<T>(unit: IdempotentUnit<T>, tenant_id?: string): Promise<T>
  /** The same for an operation of several units, which are not undone together. */
  inParts<T extends ReplayIds>(parts: InParts<T>): Promise<T>
}

/** Answers 202: it waits for a person. */
export const accepted = <T>(body: T): AcceptedReply<T> => ({
  [REPLY_KIND]: 'accepted',
  accepted: body,
})

/** Answers 200: it shows what would be done. */
export const previewed = <T>(body: T): PreviewReply<T> => ({
  [REPLY_KIND]: 'preview',
  previewed: body,
})

/** Answers 302: the browser goes on elsewhere. */
export const redirect = (location: string): RedirectReply => ({
  [REPLY_KIND]: 'redirect',
  location,
})

/** Answers 200 with lines as they are made. */
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

/** A slice that forgets an operation of its contract does not compile. */
export type HandlersOf<C extends Readonly<Record<string, OperationSpec>>> = {
  readonly [K in keyof C]: Handler<C[K]>
}
