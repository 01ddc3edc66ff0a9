// The parts of the OpenAPI document that operations share: parameters, headers, error responses.

import { COMMON_REFUSALS, type OperationSpec, type RefusalCode, refusals } from '@custos/contract'
import { isRecord, type Json, SchemaWriter } from './openapi-schemas.ts'

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Makes a retry safe: for 48 hours a request with the same key and body gets the first reply, ' +
    'where its credential has the same class, stores, namespace and trust tier.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}

const HEADERS = {
  'X-Request-Id': {
    description: 'Id of the request, also in the logs of the service',
    schema: { type: 'string' },
  },
  'Idempotency-Replayed': {
    description: '`true` when the reply is that of an earlier request with the same key',
    schema: { type: 'string' },
  },
  'Retry-After': {
    description: 'Seconds to wait before the next attempt; absent where waiting does not help',
    schema: { type: 'integer', minimum: 1 },
  },
  'RateLimit-Policy': {
    description:
      'The limit: its name, the requests it allows (`q`) and the seconds they are for (`w`)',
    schema: { type: 'string' },
  },
  RateLimit: {
    description: 'What is left of the limit (`r`) for so many seconds (`t`)',
    schema: { type: 'string' },
  },
  'WWW-Authenticate': {
    description: 'The authentication scheme that is expected',
    schema: { type: 'string' },
  },
}

interface ErrorResponse {
  readonly name: string
  /** Where no refusal with this status is shared. */
  readonly about?: string
  readonly headers?: readonly string[]
}

/** The error responses by status. */
const RESPONSES: Readonly<Record<number, ErrorResponse>> = {
  400: { name: 'BadRequest' },
  401: { name: 'Unauthorized', headers: ['WWW-Authenticate'] },
  402: { name: 'PaymentRequired', about: 'The plan of the tenant does not allow more' },
  403: { name: 'Forbidden' },
  404: { name: 'NotFound', about: 'Something the request names does not exist' },
  409: { name: 'Conflict' },
  413: { name: 'BodyTooLarge' },
  415: { name: 'UnsupportedMediaType' },
  421: { name: 'MisdirectedRequest' },
  422: { name: 'Unprocessable' },
  429: { name: 'TooManyRequests', headers: ['Retry-After', 'RateLimit-Policy', 'RateLimit'] },
  500: { name: 'InternalError' },
  503: { name: 'ServiceUnavailable', headers: ['Retry-After'] },
}

/** Refusals that the shared responses describe. */
const SHARED: ReadonlySet<RefusalCode> = new Set([
  ...COMMON_REFUSALS,
  'tenant_required',
  'operator_required',
  'idempotency_key_reused',
])

/** The body of every refusal but the two that list what does not match the schema. */
const Problem = {
  type: 'object',
  description: 'Problem details (RFC 9457) with a stable `error` code',
  required: ['type', 'title', 'status', 'detail', 'error', 'request_id'],
  properties: {
    type: { type: 'string', description: 'Path of the page about this error code' },
    title: { type: 'string', description: 'What the error code means' },
    status: { type: 'integer', description: 'The HTTP status' },
    detail: { type: ['string', 'object'], description: 'Why this request was refused' },
    error: { type: 'string', enum: Object.keys(refusals), description: 'The error code' },
    request_id: { type: ['string', 'null'], description: 'Id of the request' },
  },
}

const ValidationProblem = {
  type: 'object',
  description: 'What does not match the schema, and where; the input is never repeated',
  required: ['detail', 'error', 'request_id'],
  properties: {
    detail: {
      type: 'array',
      description: 'Up to 20 problems',
      items: {
        type: 'object',
        required: ['loc', 'msg', 'type'],
        properties: {
          loc: {
            type: 'array',
            description: 'Path to the field: `path`, `query` or `body`, then names and positions',
            items: { type: ['string', 'integer'] },
          },
          msg: { type: 'string', description: 'What is wrong' },
          type: { type: 'string', description: 'The kind of problem' },
        },
      },
    },
    error: {
      type: 'string',
      enum: ['validation', 'malformed_json'],
      description: 'The error code',
    },
    request_id: { type: 'string', description: 'Id of the request' },
  },
}

/** What several operations refer to, collected while they are described. */
export class OpenapiParts {
  readonly schemas = new SchemaWriter()
  /** Components of parameters by their text. */
  readonly #parameterNames: ReadonlyMap<string, string>
  readonly #parameters: Json = {}

  constructor(operations: readonly OperationSpec[]) {
    this.#parameterNames = this.#nameParameters(operations)
  }

  get components(): Json {
    return {
      schemas: { ...this.schemas.components, Problem, ValidationProblem },
      parameters: { ...this.#parameters, 'Idempotency-Key': IDEMPOTENCY_KEY },
      headers: HEADERS,
      responses: Object.fromEntries(
        Object.entries(RESPONSES).map(([status, { name }]) => [
          name,
          problemResponse(Number(status)),
        ]),
      ),
    }
  }

  parametersOf(operation: OperationSpec): Json[] {
    const parameters = this.#describe(operation).map((parameter) => {
      const name = this.#parameterNames.get(JSON.stringify(parameter))
      if (name === undefined) return parameter
      this.#parameters[name] = parameter
      return { $ref: `#/components/parameters/${name}` }
    })
    return operation.idempotent
      ? [...parameters, { $ref: '#/components/parameters/Idempotency-Key' }]
      : parameters
  }

  headersOf({ idempotent }: OperationSpec): Json {
    const names = idempotent ? ['X-Request-Id', 'Idempotency-Replayed'] : ['X-Request-Id']
    return Object.fromEntries(names.map((name) => [name, headerReference(name)]))
  }

  /** One response per status; refusals that few operations have are described in their place. */
  problemsOf(codes: readonly RefusalCode[]): Json {
    const byStatus = [...Map.groupBy(codes, (code) => refusals[code].status)]
    const responses = byStatus.map(([status, ofStatus]) => {
      const reference = { $ref: `#/components/responses/${responseName(status)}` }
      const own = ofStatus.filter((code) => !SHARED.has(code))
      if (own.length === 0) return [status, reference]
      const also = own.length < ofStatus.length ? [ALSO] : []
      return [status, { ...reference, description: [...own.map(describe), ...also].join('\n\n') }]
    })
    return Object.fromEntries(responses)
  }

  #describe({ params, query, headers = {} }: OperationSpec): Json[] {
    const sent = Object.entries(headers).map(([name, description]) => ({
      name,
      in: 'header',
      description,
      schema: { type: 'string' },
    }))
    return [...this.#parametersIn('path', params), ...this.#parametersIn('query', query), ...sent]
  }

  #parametersIn(where: 'path' | 'query', schema: unknown): Json[] {
    if (!isRecord(schema) || !isRecord(schema['properties'])) return []
    const required = Array.isArray(schema['required']) ? schema['required'] : []
    return Object.entries(schema['properties']).map(([name, property]) => {
      const { examples, ...written } = this.schemas.field(name, property)
      const { description = meaningOf(property), ...rest } = written
      const [example] = Array.isArray(examples) ? examples : []
      return {
        name,
        in: where,
        ...(where === 'path' || required.includes(name) ? { required: true } : {}),
        ...(description === undefined ? {} : { description }),
        schema: rest,
        ...(example === undefined ? {} : { example }),
      }
    })
  }

  // Named after the parameter; another one of that name has its first operation in its name.
  #nameParameters(operations: readonly OperationSpec[]): Map<string, string> {
    const uses = operations.flatMap((operation) =>
      this.#describe(operation).map((parameter) => ({
        text: JSON.stringify(parameter),
        name: String(parameter['name']),
        longName: `${parameter['name']}.${operation.id}`,
      })),
    )
    const names = new Map<string, string>()
    const taken = new Set<string>()
    for (const [text, [first, second]] of Map.groupBy(uses, (use) => use.text)) {
      if (first === undefined || second === undefined) continue
      const name = taken.has(first.name) ? first.longName : first.name
      taken.add(name)
      names.set(text, name)
    }
    return names
  }
}

const ALSO = 'Also the shared refusals'

/** The description of a named schema. */
const meaningOf = (schema: unknown) => (isRecord(schema) ? schema['description'] : undefined)

const responseName = (status: number): string => RESPONSES[status]?.name ?? `Status${status}`
const headerReference = (name: string) => ({ $ref: `#/components/headers/${name}` })
const describe = (code: RefusalCode): string => `\`${code}\`: ${refusals[code].title}`

function problemResponse(status: number): Json {
  const shared = [...SHARED].filter((code) => refusals[code].status === status)
  const schema = (name: string) => ({ schema: { $ref: `#/components/schemas/${name}` } })
  const headers = ['X-Request-Id', ...(RESPONSES[status]?.headers ?? [])]
  return {
    description: shared.map(describe).join('\n\n') || (RESPONSES[status]?.about ?? ''),
    headers: Object.fromEntries(headers.map((name) => [name, headerReference(name)])),
    content: {
      ...(status === 422 ? { 'application/json': schema('ValidationProblem') } : {}),
      'application/problem+json': schema('Problem'),
    },
  }
}
