// The type of an operation: one row from which routes, validation, OpenAPI and tests are derived.

import type { Static, TSchema } from 'typebox'
import type { COMMON_REFUSALS, RefusalCode } from './refusals.ts'
import type { Scope } from './scopes.ts'

/**
 * Who may call an operation.
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
  /** The operation consumes its input, such as a one-time code. HEAD is not answered like GET. */
  readonly once?: true
  /** What the operation does: one sentence in the third person, without a full stop. */
  readonly summary: string
  /** When to use the operation, then what else callers should know. */
  readonly description?: string
  readonly access: Access
  /** The scope that a tenant key needs. If absent, any key of the tenant may call. */
  readonly scope?: Scope
  /** Further scopes that a tenant key needs, because the reply contains data they protect. */
  readonly extra_scopes?: readonly Scope[]
  /**
   * A key that is limited to a namespace may call, because the operation reads and writes one
   * namespace, which its input names. If absent, such a key is refused.
   */
  readonly namespaced?: true
  readonly params?: TSchema
  readonly query?: TSchema
  /** Descriptions of the headers that the handler reads, by name in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: TSchema
  /**
   * Paths of fields that existing clients send and this operation does not use, such as
   * `query.limit`, `body.options.app` or `body.items[].app`. They are accepted and dropped before
   * anything reads them. Never a name that would change the meaning of the request.
   */
  readonly tolerated?: readonly string[]
  /** A valid body, or one line of an NDJSON body, for documentation and tests. */
  readonly example?: unknown
  /** The body may be absent or empty; then `{}` is validated. */
  readonly body_optional?: true
  /** Browsers may call it only from pages of the service itself, although it is public. */
  readonly same_origin?: true
  /** NDJSON bodies reach the handler as a byte stream. */
  readonly body_type?: 'application/json' | 'application/x-ndjson'
  /** The handler gets the bytes as received, of any type, because a signature covers them. */
  readonly raw_body?: true
  /** Status of a successful reply; 302 redirects a browser, see RedirectReply. */
  readonly status: 200 | 201 | 202 | 302
  readonly reply: TSchema
  /** The body of a 202, for an operation that may not be finished when it replies. */
  readonly accepted?: TSchema
  /** The body of a 200, for an operation that can report what it would do. */
  readonly preview?: TSchema
  /**
   * The media type; default: JSON. NDJSON replies are streams, and their schema describes one line.
   * The schema of an event stream describes the data of one frame. A picture is a text, bytes are a
   * file.
   */
  readonly reply_type?:
    | 'application/json'
    | 'application/x-ndjson'
    | 'application/octet-stream'
    | 'image/svg+xml'
    | 'text/event-stream'
    | 'text/plain'
  /** The event stream has an end. The reply is 204 if no frame is left. */
  readonly ends?: true
  /** The reply may also be a file of one of these types; see FileReply. */
  readonly file_types?: readonly FileType[]
  /** The reply may be streamed, as NDJSON lines or as one JSON document; see StreamReply. */
  readonly may_stream?: 'application/x-ndjson' | 'application/json'
  /** Refusals in addition to COMMON_REFUSALS. */
  readonly refuses: readonly RefusalCode[]
  /**
   * The operation only reads, although its method is not GET. It changes nothing but counts of use,
   * so a client may retry it. Every GET is safe and needs no mark.
   */
  readonly safe?: true
  /** Supports the Idempotency-Key header. */
  readonly idempotent?: true
  /** Largest body in bytes; default: `limits.body_bytes`. */
  readonly body_bytes_max?: number
  /** Cache-Control of the reply; default: `no-store`. */
  readonly cache_control?: string
}

export type Operation<S extends OperationSpec = OperationSpec> = S

/**
 * Declares an operation and keeps the literal types of its schemas and refusals. A member that
 * OperationSpec does not have does not compile. Query and body are closed: undeclared names are
 * refused. Path parameters accept any text, because an unknown id is answered with 404.
 */
export function operation<const S extends OperationSpec>(
  spec: S & Readonly<Record<Exclude<keyof S, keyof OperationSpec>, never>>,
): S {
  const { params, query, body } = spec
  return {
    ...spec,
    ...(params ? { params: openIds(params) } : {}),
    ...(query ? { query: closeSchema(query) } : {}),
    ...(body ? { body: closeSchema(body) } : {}),
  }
}

/**
 * A copy of a schema in which every object with declared properties accepts no others. An object
 * that has `additionalProperties` stays unchanged, and so does a record, whose keys are the
 * caller's.
 */
function closeSchema<T>(schema: T): T {
  if (!isRecord(schema)) return schema
  const changes: Record<string, unknown> = {}
  if (isRecord(schema['properties'])) {
    changes['properties'] = mapMembers(schema['properties'], closeSchema)
    if (!('additionalProperties' in schema)) changes['additionalProperties'] = false
  }
  if (isRecord(schema['patternProperties']))
    changes['patternProperties'] = mapMembers(schema['patternProperties'], closeSchema)
  for (const keyword of ['items', 'anyOf'])
    if (keyword in schema) changes[keyword] = closeEach(schema[keyword])
  return Object.assign(copyOf(schema), changes)
}

/** Closes one schema, or each schema of a list. */
const closeEach = (schemas: unknown): unknown =>
  Array.isArray(schemas) ? schemas.map(closeSchema) : closeSchema(schemas)

const TEXT_RULES = ['title', 'pattern', 'format', 'minLength', 'maxLength']

/**
 * A copy of the schema of path parameters in which every text is valid. An impossible id is
 * answered like one that does not exist.
 */
function openIds<T>(schema: T): T {
  if (!isRecord(schema) || !isRecord(schema['properties'])) return schema
  return Object.assign(copyOf(schema), { properties: mapMembers(schema['properties'], openId) })
}

function openId(schema: unknown): unknown {
  if (!isRecord(schema) || schema['type'] !== 'string') return schema
  // The description of a named schema describes the rules that are removed.
  const rules = 'title' in schema ? [...TEXT_RULES, 'description'] : TEXT_RULES
  const copy = copyOf(schema)
  for (const rule of rules) delete copy[rule]
  return copy
}

const mapMembers = (
  schemas: Readonly<Record<string, unknown>>,
  change: (schema: unknown) => unknown,
): Record<string, unknown> =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, change(schema)]))

/** Copies a schema. A spread would lose the hidden members that mark kinds and optional fields. */
const copyOf = (schema: object) =>
  Object.create(Object.prototype, Object.getOwnPropertyDescriptors(schema))

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

type StaticOf<T> = T extends TSchema ? Static<T> : undefined

/** The input of a handler, typed from the schemas. */
export interface InputOf<S extends OperationSpec> {
  readonly params: StaticOf<S['params']>
  readonly query: StaticOf<S['query']>
  readonly body: S['body_type'] extends 'application/x-ndjson'
    ? AsyncIterable<Uint8Array>
    : S['raw_body'] extends true
      ? Uint8Array
      : StaticOf<S['body']>
}

/**
 * The member that distinguishes the replies below from a plain reply, which is the body itself. It
 * is a symbol, so that no member of a body can be mistaken for it.
 */
export const REPLY_KIND: unique symbol = Symbol('custos.reply_kind')

/** A reply that is streamed line by line. */
export interface StreamReply {
  readonly [REPLY_KIND]: 'stream'
  readonly stream: AsyncIterable<string>
  /** File name of the reply, if it is a download. */
  readonly filename?: string
  /** Media type of the stream; default: NDJSON. */
  readonly type?: FileType
}

/** The used members of AbortSignal, whose type this package does not have. */
interface CutSignal {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** A reply that stays open and sends frames of server-sent events as they arrive. */
export interface EventStreamReply {
  readonly [REPLY_KIND]: 'events'
  /** Texts of one or more whole frames; null if none is left, which is answered with 204. */
  readonly frames: AsyncIterable<string> | null
  /** When aborted, the connection is closed if the client does not read its frames. */
  readonly cut: CutSignal
}

export type FileType =
  | 'application/json; charset=utf-8'
  | 'text/html; charset=utf-8'
  | 'application/octet-stream'
  | 'application/pdf'

/** A reply as a file. */
export interface FileReply {
  readonly [REPLY_KIND]: 'file'
  /** Content of the file; a text is sent as UTF-8. */
  readonly file: string | Uint8Array
  readonly type: FileType
  readonly filename: string
}

/** A reply with status 302 that redirects a browser. */
export interface RedirectReply {
  readonly [REPLY_KIND]: 'redirect'
  readonly location: string
}

/** A reply with status 202: the request is accepted and not finished. */
export interface AcceptedReply<T> {
  readonly [REPLY_KIND]: 'accepted'
  readonly accepted: T
}

type AcceptedOf<S extends OperationSpec> = S['accepted'] extends TSchema
  ? AcceptedReply<Static<S['accepted']>>
  : never

/** A reply with status 200 to a request for a preview, which changed nothing. */
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

type StreamOf<S extends OperationSpec> = S['may_stream'] extends string ? StreamReply : never

export type ReplyOf<S extends OperationSpec> = S['reply_type'] extends 'application/x-ndjson'
  ? StreamReply | FileOf<S>
  : S['reply_type'] extends 'text/event-stream'
    ? EventStreamReply
    : S['reply_type'] extends 'application/octet-stream'
      ? FileReply
      : S['status'] extends 302
        ? RedirectReply
        : Static<S['reply']> | AcceptedOf<S> | PreviewedOf<S> | FileOf<S> | StreamOf<S>

export type RefusalOf<S extends OperationSpec> =
  | S['refuses'][number]
  | (typeof COMMON_REFUSALS)[number]
