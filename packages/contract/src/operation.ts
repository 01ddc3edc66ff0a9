// What an operation is: the one description that routes, validation, OpenAPI and tests derive from.

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
  /** `slice.verb`: also the log name, metric label and SDK path. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Path template with `{name}` parameters, without a trailing slash. */
  readonly path: string
  /** The last parameter of the path takes all that is left of it, slashes included. */
  readonly greedy?: true
  readonly summary: string
  readonly description?: string
  readonly access: Access
  /** Required for `tenant`, `operator_or_self` and `either` unless any tenant key will do. */
  readonly scope?: Scope
  /** Needed beside it: the answer shows what these scopes are for. */
  readonly scopes_too?: readonly Scope[]
  readonly params?: TSchema
  readonly query?: TSchema
  readonly body?: TSchema
  /** A body that succeeds, or of an NDJSON body one line; shown in the documentation. */
  readonly example?: unknown
  /** A body that may be left out or empty: `{}` is validated instead. */
  readonly body_optional?: true
  /** NDJSON bodies reach the handler as a byte stream. */
  readonly body_type?: 'application/json' | 'application/x-ndjson'
  readonly status: 200 | 201 | 202
  readonly reply: TSchema
  /** The body of a 202, for an operation that may have to wait for a person. */
  readonly accepted?: TSchema
  /** The body of a 200, for an operation that may be asked to show what it would do. */
  readonly preview?: TSchema
  /** NDJSON replies are streams; their schema describes one line. A picture is a text. */
  readonly reply_type?: 'application/json' | 'application/x-ndjson' | 'image/svg+xml'
  /** A reply of the schema may also come as a file of one of these types: see FileReply. */
  readonly file_types?: readonly FileType[]
  /** Instead of the reply it may answer lines, as NDJSON: see StreamReply. */
  readonly may_stream?: true
  /** Refusals beyond the common ones. */
  readonly refuses: readonly RefusalCode[]
  /** Honours the Idempotency-Key header. */
  readonly idempotent?: true
  /** The largest body in bytes, where it differs from the general limit. */
  readonly body_bytes_max?: number
  /** The answer's Cache-Control; `no-store` where there is none. */
  readonly cache_control?: string
}

export type Operation<S extends OperationSpec = OperationSpec> = S

/** Declares an operation, keeping the literal types of its schemas and refusals. */
export function operation<const S extends OperationSpec>(spec: S): S {
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

/** A reply that is streamed line by line. */
export interface StreamReply {
  readonly stream: AsyncIterable<string>
  /** File name of the download, when the reply is one. */
  readonly filename?: string
}

export type FileType =
  | 'application/json; charset=utf-8'
  | 'text/html; charset=utf-8'
  | 'application/pdf'

/** A reply as a file of its own type, for people or to be kept. */
export interface FileReply {
  /** A text is sent as UTF-8. */
  readonly file: string | Uint8Array
  readonly type: FileType
  readonly filename: string
}

/** An answer with 202: asked for, and not done yet. */
export interface Accepted<T> {
  readonly accepted: T
}

type AcceptedOf<S extends OperationSpec> = S['accepted'] extends TSchema
  ? Accepted<Static<S['accepted']>>
  : never

/** An answer with 200: nothing was done. */
export interface Previewed<T> {
  readonly previewed: T
}

type PreviewedOf<S extends OperationSpec> = S['preview'] extends TSchema
  ? Previewed<Static<S['preview']>>
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
