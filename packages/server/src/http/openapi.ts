// OpenAPI 3.1 from the operation table: paths, schemas, scopes and every declared refusal.

import { COMMON_REFUSALS, type OperationSpec, type RefusalCode, refusals } from '@custos/contract'
import { edgeRefusals } from './authorize.ts'

type Json = Record<string, unknown>

/** The document served at /openapi.json. */
export function buildOpenapi(operations: readonly OperationSpec[], version: string): Json {
  const paths: Record<string, Json> = {}
  for (const operation of operations) {
    const path = paths[operation.path] ?? {}
    path[operation.method.toLowerCase()] = describeOperation(operation)
    paths[operation.path] = path
  }
  const tags = [...new Set(operations.map(groupOf))].map((name) => ({ name }))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Custos',
      version,
      summary: 'Governed memory for AI agents',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    servers: [{ url: '/' }],
    tags,
    paths,
    components: { securitySchemes, schemas: { Problem, ValidationProblem } },
  }
}

const groupOf = ({ id }: OperationSpec): string => id.split('.')[0] ?? id

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer' },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
}

const Problem = {
  type: 'object',
  description: 'Problem details (RFC 9457) with a stable `error` code.',
  required: ['type', 'title', 'status', 'detail', 'error', 'request_id'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: ['string', 'object'] },
    error: { type: 'string', enum: Object.keys(refusals) },
    request_id: { type: ['string', 'null'] },
  },
}

const ValidationProblem = {
  type: 'object',
  description: 'What does not match the schema, and where. The input is never repeated.',
  required: ['detail', 'error', 'request_id'],
  properties: {
    detail: {
      type: 'array',
      items: {
        type: 'object',
        required: ['loc', 'msg', 'type'],
        properties: {
          loc: { type: 'array', items: { type: ['string', 'integer'] } },
          msg: { type: 'string' },
          type: { type: 'string' },
        },
      },
    },
    error: { type: 'string', enum: ['validation', 'malformed_json'] },
    request_id: { type: 'string' },
  },
}

function describeOperation(operation: OperationSpec): Json {
  const parameters = [
    ...parametersOf(operation.params, 'path'),
    ...parametersOf(operation.query, 'query'),
    ...(operation.idempotent ? [IDEMPOTENCY_KEY] : []),
  ]
  const codes = refusalsOf(operation)
  return {
    operationId: operation.id,
    tags: [groupOf(operation)],
    summary: operation.summary,
    ...(operation.description ? { description: operation.description } : {}),
    ...(operation.access === 'public' ? { security: [] } : { security: SECURITY }),
    'x-access': operation.access,
    ...(operation.scope ? { 'x-scope': operation.scope } : {}),
    ...(operation.scopes_too ? { 'x-scopes-too': operation.scopes_too } : {}),
    'x-refusals': codes,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...requestBody(operation),
    responses: { ...success(operation), ...problems(codes) },
  }
}

const SECURITY = [{ bearer: [] }, { apiKey: [] }]

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'A retry with the same key and body gets the first result for 48 hours.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}

const NEEDS_CREDENTIAL: ReadonlySet<RefusalCode> = new Set([
  'unauthenticated',
  'credentials_differ',
  'scope_missing',
  'origin_refused',
])
const NEEDS_BODY: ReadonlySet<RefusalCode> = new Set([
  'malformed_json',
  'body_too_large',
  'unsupported_media_type',
  'signing_key_refused',
])

function refusalsOf(operation: OperationSpec): RefusalCode[] {
  const takesBody = operation.body !== undefined || operation.body_type !== undefined
  const common = COMMON_REFUSALS.filter(
    (code) =>
      (takesBody || !NEEDS_BODY.has(code)) &&
      (operation.access !== 'public' || !NEEDS_CREDENTIAL.has(code)),
  )
  return [...new Set([...operation.refuses, ...edgeRefusals(operation), ...common])]
}

function parametersOf(schema: unknown, where: 'path' | 'query'): Json[] {
  if (!isRecord(schema) || !isRecord(schema['properties'])) return []
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  return Object.entries(schema['properties']).map(([name, property]) => {
    const examples = isRecord(property) ? property['examples'] : undefined
    const example = Array.isArray(examples) ? examples[0] : undefined
    return {
      name,
      in: where,
      required: where === 'path' || required.includes(name),
      schema: property,
      ...(example === undefined ? {} : { example }),
    }
  })
}

function requestBody(operation: OperationSpec): Json {
  if (!operation.body && !operation.body_type) return {}
  const type = operation.body_type ?? 'application/json'
  return {
    requestBody: {
      required: !operation.body_optional,
      content: { [type]: operation.body ? { schema: operation.body } : {} },
    },
  }
}

function success(operation: OperationSpec): Json {
  const type = operation.reply_type ?? 'application/json'
  const description =
    type === 'application/x-ndjson'
      ? `${operation.summary}, one JSON object a line`
      : operation.summary
  return {
    [operation.status]: {
      description,
      headers: { 'X-Request-Id': { schema: { type: 'string' } } },
      content: {
        [type]: { schema: operation.reply },
        ...filesOf(operation),
        ...(operation.may_stream ? { 'application/x-ndjson': {} } : {}),
      },
    },
    ...(operation.accepted ? waitingResponse(operation.accepted) : {}),
    ...(operation.preview ? previewResponse(operation.preview) : {}),
  }
}

/** Files that are no JSON: texts; bytes have no schema (OpenAPI 3.1, 4.8.14.3). */
const filesOf = ({ file_types = [] }: OperationSpec): Json =>
  Object.fromEntries(
    file_types
      .map((type) => type.split(';', 1)[0] ?? type)
      .filter((type) => type !== 'application/json')
      .map((type) => [type, type.startsWith('text/') ? { schema: { type: 'string' } } : {}]),
  )

const previewResponse = (schema: OperationSpec['reply']): Json => ({
  200: {
    description: 'What would be done; nothing was.',
    content: { 'application/json': { schema } },
  },
})

const waitingResponse = (schema: OperationSpec['reply']): Json => ({
  202: {
    description: 'A policy of the tenant asks for an approval: it waits for a person.',
    content: { 'application/json': { schema } },
  },
})

/** One response a status: its codes, and the shape they come in. */
function problems(codes: readonly RefusalCode[]): Json {
  const byStatus = Map.groupBy(codes, (code) => refusals[code].status)
  const responses: Json = {}
  for (const [status, ofStatus] of byStatus) {
    responses[status] = {
      description: ofStatus.map((code) => `\`${code}\`: ${refusals[code].title}`).join('\n\n'),
      content: problemContent(ofStatus),
    }
  }
  return responses
}

function problemContent(codes: readonly RefusalCode[]): Json {
  const lists = codes.filter((code) => code === 'validation' || code === 'malformed_json')
  const schema = (name: string) => ({ schema: { $ref: `#/components/schemas/${name}` } })
  return {
    ...(lists.length > 0 ? { 'application/json': schema('ValidationProblem') } : {}),
    ...(lists.length < codes.length ? { 'application/problem+json': schema('Problem') } : {}),
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
