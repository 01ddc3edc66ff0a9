// What an operation is: one row from which routes, validation, OpenAPI and tests are derived.

import type { Static, TSchema } from 'typebox'
import type { COMMON_REFUSALS, RefusalCode } from './refusals.ts'
import type { Scope } from './scopes.ts'

/**
 * Who may call.
 * - `public`: no credential
 * - `tenant`: a tenant credential with the scope
 * - `operator`: a platform operator only
 * - `operator_or_self`: an operator, or the tenant named by `{tenant_id}` with the scope
 * - `either`: an operator or any tenant credential with the scope
 */
export type Access = 'public' | 'tenant' | 'operator' | 'operator_or_self' | 'either'

export interface OperationSpec {
  /** `slice.verb`: also the name in logs, the metric label and the SDK path. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Path template with `{name}` parameters, without a trailing slash. */
  readonly path: string
  /** The last parameter of the path matches the rest of the path, slashes included. */
  readonly greedy?: true
  /** What the operation does: one sentence in the third person, without a full stop. */
  readonly summary: string
  /** When to use it, then what else callers should know. */
  readonly description?: string
  readonly access: Access
  /** The scope a tenant key needs; absent: any key of the tenant may call. */
  readonly scope?: Scope
  /** Further scopes a tenant key needs, because the reply contains what they protect. */
  readonly extra_scopes?: readonly Scope[]
  /**
   * A key that is limited to a namespace may call: the operation reads and writes one namespace,
   * which its input names. Absent: such a key is refused.
   */
  readonly namespaced?: true
  readonly params?: TSchema
  readonly query?: TSchema
  readonly body?: TSchema
  /** A valid body, or one line of an NDJSON body, for the documentation and the tests. */
  readonly example?: unknown
  /** The body may be absent or empty: `{}` is validated instead. */
  readonly body_optional?: true
  /** NDJSON bodies reach the handler as a byte stream. */
  readonly body_type?: 'application/json' | 'application/x-ndjson'
  readonly status: 200 | 201 | 202
  readonly reply: TSchema
  /** The body of a 202, for an operation that may not be finished when it replies. */
  readonly accepted?: TSchema
  /** The body of a 200, for an operation that can report what it would do. */
  readonly preview?: TSchema
  /** NDJSON replies are streams, and their schema describes one line; a picture is a text. */
  readonly reply_type?: 'application/json' | 'application/x-ndjson' | 'image/svg+xml'
  /** The reply may also be a file of one of these types: see FileReply. */
  readonly file_types?: readonly FileType[]
  /** The reply may also be a stream of NDJSON lines: see StreamReply. */
  readonly may_stream?: true
  /** Refusals in addition to COMMON_REFUSALS. */
  readonly refuses: readonly RefusalCode[]
  /** Supports the Idempotency-Key header. */
  readonly idempotent?: true
  /** Largest body in bytes; default: `limits.body_bytes`. */
  readonly body_bytes_max?: number
  /** Cache-Control of the reply; default: `no-store`. */
  readonly cache_control?: string
}

export type Operation<S extends OperationSpec = OperationSpec> = S

/**
 * Declares an operation and keeps the literal types of its schemas and refusals. A member that is
 * not one of the specification does not compile.
 */
export function operation<const S extends OperationSpec>(
  spec: S & Readonly<Record<Exclude<keyof S, keyof OperationSpec>, never>>,
): S {
  return spec
}

type StaticOf<T> = T extends TSchema ? Static<T> : undefined

/** What a handler receives, typed from the schemas. */
export interface InputOf<S extends OperationSpec> {
  readonly params: StaticOf<S['params']>
  readonly query: StaticOf<S['query']>
  readonly body: S['body_type'] extends 'application/x-ndjson'
    ? AsyncIterable<Uint8Array>
    : StaticOf<S['body']>
}

/**
 * The member that tells the replies below from a plain one, which is the body itself: a symbol, so
 * that no member of a body is taken for it.
 */
export const REPLY_KIND: unique symbol = Symbol('custos.reply_kind')

/** A reply that is streamed line by line. */
export interface StreamReply {
  readonly [REPLY_KIND]: 'stream'
  readonly stream: AsyncIterable<string>
  /** File name, if the reply is a download. */
  readonly filename?: string
}

export type FileType =
  | 'application/json; charset=utf-8'
  | 'text/html; charset=utf-8'
  | 'application/pdf'

/** A reply as a file. */
export interface FileReply {
  readonly [REPLY_KIND]: 'file'
  /** A text is sent as UTF-8. */
  readonly file: string | Uint8Array
  readonly type: FileType
  readonly filename: string
}

/** A reply with status 202: accepted and not finished. */
export interface AcceptedReply<T> {
  readonly [REPLY_KIND]: 'accepted'
  readonly accepted: T
}

type AcceptedOf<S extends OperationSpec> = S['accepted'] extends TSchema
  ? AcceptedReply<Static<S['accepted']>>
  : never

/** A reply with status 200 to a request for a preview: nothing was changed. */
export interface PreviewReply<T> {
  readonly [REPLY_KIND]: 'preview'
  readonly previewed: T
}

type PreviewedOf<S extends OperationSpec> = S['preview'] extends TSchema
  ? PreviewReply<Static<S['preview']>>
  : never

type FileOf<S extends OperationSpec> = S['file_types'] extends readonly FileType[]
  ? FileReply
  : never

type StreamOf<S extends OperationSpec> = S['may_stream'] extends true ? StreamReply : never

export type ReplyOf<S extends OperationSpec> = S['reply_type'] extends 'application/x-ndjson'
  ? StreamReply
  : Static<S['reply']> | AcceptedOf<S> | PreviewedOf<S> | FileOf<S> | StreamOf<S>

export type RefusalOf<S extends OperationSpec> =
  | S['refuses'][number]
  | (typeof COMMON_REFUSALS)[number]
