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
  /** It uses up what it is given, so that HEAD does not answer for GET. */
  readonly once?: true
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
  /** Headers the handler reads, in lower case, with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: TSchema
  /**
   * What existing clients send and this operation does not use: `query.limit`, `body.options.app`,
   * `body.items[].app`. It is accepted and dropped before anything reads it. Never a name that
   * would change the meaning of the request.
   */
  readonly tolerated?: readonly string[]
  /** A valid body, or one line of an NDJSON body, for the documentation and the tests. */
  readonly example?: unknown
  /** The body may be absent or empty: `{}` is validated instead. */
  readonly body_optional?: true
  /** A browser may call it from a page of the service itself only, although it is public. */
  readonly same_origin?: true
  /** NDJSON bodies reach the handler as a byte stream. */
  readonly body_type?: 'application/json' | 'application/x-ndjson'
  /** The handler gets the bytes as they came, of whatever type: a signature is over them. */
  readonly raw_body?: true
  /** 302: it leads a browser elsewhere, see RedirectReply. */
  readonly status: 200 | 201 | 202 | 302
  readonly reply: TSchema
  /** The body of a 202, for an operation that may not be finished when it replies. */
  readonly accepted?: TSchema
  /** The body of a 200, for an operation that can report what it would do. */
  readonly preview?: TSchema
  /**
   * NDJSON replies are streams, and their schema describes one line; that of an event stream
   * describes the data of one frame; a picture is a text, and bytes are a file.
   */
  readonly reply_type?:
    | 'application/json'
    | 'application/x-ndjson'
    | 'application/octet-stream'
    | 'image/svg+xml'
    | 'text/event-stream'
    | 'text/plain'
  /** The event stream has an end: 204 where nothing is left of it. */
  readonly ends?: true
  /** The reply may also be a file of one of these types: see FileReply. */
  readonly file_types?: readonly FileType[]
  /** The reply may be streamed, as NDJSON lines or as the document it is: see StreamReply. */
  readonly may_stream?: 'application/x-ndjson' | 'application/json'
  /** Refusals in addition to COMMON_REFUSALS. */
  readonly refuses: readonly RefusalCode[]
  /**
   * A read, whatever its method: it changes nothing but counts of use, so that a client may repeat
   * it without asking. Every GET is one; this marks the others.
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
 * Declares an operation and keeps the literal types of its schemas and refusals. A member that is
 * not one of the specification does not compile. Query and body are closed: names that are not
 * declared are refused. A text in the path may be any: an id of nothing is answered with 404.
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
 * A copy of a schema in which every object with declared properties takes no others. An object
 * that says itself what else it takes (`additionalProperties`) stays as it is, and so does a
 * record, whose keys are the caller's.
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

/** One schema, or each of a list. */
const closeEach = (schemas: unknown): unknown =>
  Array.isArray(schemas) ? schemas.map(closeSchema) : closeSchema(schemas)

const TEXT_RULES = ['title', 'pattern', 'format', 'minLength', 'maxLength']

/**
 * A copy of the schema of path parameters in which every text is valid: an id that none can have is
 * answered like one that does not exist.
 */
function openIds<T>(schema: T): T {
  if (!isRecord(schema) || !isRecord(schema['properties'])) return schema
  return Object.assign(copyOf(schema), { properties: mapMembers(schema['properties'], openId) })
}

function openId(schema: unknown): unknown {
  if (!isRecord(schema) || schema['type'] !== 'string') return schema
  // The description of a named schema is that of its form.
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

/** A spread would leave out the hidden members that mark a kind and an optional field. */
const copyOf = (schema: object) =>
  Object.create(Object.prototype, Object.getOwnPropertyDescriptors(schema))

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

type StaticOf<T> = T extends TSchema ? Static<T> : undefined

/** What a handler receives, typed from the schemas. */
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
  /** Default: NDJSON. */
  readonly type?: FileType
}

/** What is used of an AbortSignal, which this package has no types of. */
interface CutSignal {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** A reply that stays open: frames of server-sent events, sent as they come. */
export interface EventStreamReply {
  readonly [REPLY_KIND]: 'events'
  /** One or more whole frames each; null: there are none left, and the answer is 204. */
  readonly frames: AsyncIterable<string> | null
  /** Once aborted, a connection that does not take its frames is cut. */
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
  /** A text is sent as UTF-8. */
  readonly file: string | Uint8Array
  readonly type: FileType
  readonly filename: string
}

/** A reply with status 302 that leads a browser elsewhere. */
export interface RedirectReply {
  readonly [REPLY_KIND]: 'redirect'
  readonly location: string
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
