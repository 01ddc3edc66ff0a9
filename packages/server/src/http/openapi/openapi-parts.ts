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

/** The responses of refusals that an operation describes itself, by status. */
const RESPONSES: Readonly<
  Record<number, { name: string; about: string; headers?: readonly string[] }>
> = {
  400: { name: 'BadRequest', about: 'The request could not be read' },
  401: {
    name: 'Unauthorized',
    about: 'A valid credential is required',
    headers: ['WWW-Authenticate'],
  },
  402: { name: 'PaymentRequired', about: 'The plan of the tenant does not allow more' },
  403: { name: 'Forbidden', about: 'The caller may not do this' },
  404: { name: 'NotFound', about: 'Something the request names does not exist' },
  409: { name: 'Conflict', about: 'The current state does not allow this' },
  413: { name: 'BodyTooLarge', about: 'The body has too many bytes' },
  422: { name: 'Unprocessable', about: 'The request does not match the schema, or see `default`' },
  429: {
    name: 'TooManyRequests',
    about: 'Too many requests',
    headers: ['Retry-After', 'RateLimit-Policy', 'RateLimit'],
  },
  503: {
    name: 'ServiceUnavailable',
    about: 'The service cannot do this now',
    headers: ['Retry-After'],
  },
}

/** Refusals that the response `Refused` describes. */
const SHARED: ReadonlySet<RefusalCode> = new Set([
  ...COMMON_REFUSALS,
  'tenant_required',
  'operator_required',
  'idempotency_key_reused',
])

/** The body of every refusal except the two that list schema violations. */
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

/** Components that several operations refer to, collected while these are described. */
export class OpenapiParts {
  readonly schemas = new SchemaWriter()
  /** Component names of parameters by the JSON of the parameter. */
  readonly #parameterNames: ReadonlyMap<string, string>
  readonly #parameters: Json = {}
  /** Statuses of the shared responses that an operation refers to. */
  readonly #statuses = new Set<number>()

  constructor(operations: readonly OperationSpec[]) {
    this.#parameterNames = this.#nameParameters(operations)
  }

  get components(): Json {
    return {
      schemas: { ...this.schemas.components, Problem, ValidationProblem },
      parameters: { ...this.#parameters, 'Idempotency-Key': IDEMPOTENCY_KEY },
      headers: HEADERS,
      responses: {
        ...Object.fromEntries(
          [...this.#statuses].sort().map((status) => [responseName(status), ownResponse(status)]),
        ),
        Refused: sharedResponse,
      },
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

  /**
   * A response for each status for which the operation has refusals of its own, and for 422, whose
   * body can have another form; `default` is for all other refusals.
   */
  problemsOf(codes: readonly RefusalCode[], { refuses }: OperationSpec): Json {
    const responses: Json = {}
    const isOwn = (code: RefusalCode) => !SHARED.has(code) || refuses.includes(code)
    for (const [status, ofStatus] of Map.groupBy(codes, (code) => refusals[code].status)) {
      const own = ofStatus.filter(isOwn)
      if (own.length === 0 && status !== UNPROCESSABLE) continue
      this.#statuses.add(status)
      const others = own.length < ofStatus.length ? ['Others: see `default`'] : []
      const description = own.length === 0 ? '' : [...own.map(describe), ...others].join('\n\n')
      responses[status] = {
        $ref: `#/components/responses/${responseName(status)}`,
        ...(description === '' ? {} : { description }),
      }
    }
    return { ...responses, default: { $ref: '#/components/responses/Refused' } }
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

  // Named after the parameter; a second one of that name includes its first operation.
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

/** The description of a named schema. */
const meaningOf = (schema: unknown) => (isRecord(schema) ? schema['description'] : undefined)

const UNPROCESSABLE = 422
const responseName = (status: number): string => RESPONSES[status]?.name ?? `Status${status}`
const headerReference = (name: string) => ({ $ref: `#/components/headers/${name}` })
const describe = (code: RefusalCode): string => `\`${code}\`: ${refusals[code].title}`

const schema = (name: string) => ({ schema: { $ref: `#/components/schemas/${name}` } })
const problem = { 'application/problem+json': schema('Problem') }
const headersNamed = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, headerReference(name)]))

function ownResponse(status: number): Json {
  const { about = `Status ${status}`, headers = [] } = RESPONSES[status] ?? {}
  const validation = { 'application/json': schema('ValidationProblem') }
  return {
    description: about,
    headers: headersNamed(['X-Request-Id', ...headers]),
    content: { ...(status === UNPROCESSABLE ? validation : {}), ...problem },
  }
}

/** The refusals that any operation can have, by status. */
const sharedResponse: Json = {
  description: [...SHARED]
    .sort((a, b) => refusals[a].status - refusals[b].status)
    .map((code) => `${refusals[code].status} ${describe(code)}`)
    .join('\n\n'),
  headers: headersNamed(Object.keys(HEADERS).filter((name) => name !== 'Idempotency-Replayed')),
  content: problem,
}
