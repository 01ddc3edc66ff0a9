// OpenAPI 3.1 from the operation table: paths, schemas, scopes and every declared refusal.

import { COMMON_REFUSALS, type OperationSpec, type RefusalCode } from '@custos/contract'
import { edgeRefusals } from '../access/authorize.ts'
import { OpenapiParts } from './openapi-parts.ts'
import type { Json } from './openapi-schemas.ts'

/** The document served at /openapi.json. */
export function buildOpenapi(operations: readonly OperationSpec[], version: string): Json {
  const parts = new OpenapiParts(operations)
  const paths: Record<string, Json> = {}
  for (const operation of operations) {
    const path = paths[operation.path] ?? {}
    path[operation.method.toLowerCase()] = describeOperation(operation, parts)
    paths[operation.path] = path
  }
  const tags = [...new Set(operations.map(groupOf))].map((name) => ({
    name,
    description: GROUPS[name],
  }))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Custos',
      version,
      summary: 'Governed memory for AI agents',
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { apiKey: [] }, { session: [] }],
    'x-common-refusals': COMMON_REFUSALS,
    tags,
    paths,
    components: { securitySchemes, ...parts.components },
  }
}

const groupOf = ({ id }: OperationSpec): string => id.split('.')[0] ?? id

const INTRODUCTION =
  'Requests and replies are JSON in UTF-8 unless an operation says otherwise. A field or query ' +
  'parameter that an operation does not describe is refused with 422. Send an API key as ' +
  '`Authorization: Bearer <key>` or `X-API-Key: <key>`; in local mode no key is needed. A ' +
  'refusal is problem details (RFC 9457) with a stable `error` code; each code is explained at ' +
  '`/errors/{code}`. `x-access` says who may call an operation, `x-scope` which scope a tenant ' +
  'key needs, `x-namespaced` that a key limited to a namespace may call, `x-safe` that a POST ' +
  'only reads, so that a client may repeat it, and `x-refusals` which ' +
  'codes it may return beside `x-common-refusals`. Lists are paged by `limit` and `cursor`. ' +
  'Operations with an `Idempotency-Key` header can be retried safely.'

/** The description of each group of operations. */
const GROUPS: Readonly<Record<string, string>> = {
  approvals: 'Approval requests, signed decisions and the approvers who may make them',
  artifacts: 'Registry of models and adapters',
  assurance: 'Checks that the service runs on itself',
  billing: 'Payment of plans',
  cgr: 'Reputation of agents: governed decisions, outcomes, reviews, scores and attestations',
  compliance: 'Conformance audits and badges of tenants',
  compositions: 'Registry of combined artifacts and data, with the licences that apply',
  decisions: 'Trail of decisions of agents',
  erasure: 'Erasure of memories and its certificates',
  gcrumbs: 'The audit log of a tenant: entries, signed checkpoints and proofs',
  governance: 'Policies and their evaluation',
  identity: 'People: sessions of browsers and who calls',
  items: 'JSON values under names, each version of them a memory',
  jobs: 'Work that continues after the reply',
  keys: 'API keys of a tenant',
  landing: 'Registry of certificates for artifacts that go into production',
  llm: 'Models that managed runs ask, with their providers and prices',
  manifold: 'Map of decisions by content and outcome',
  memory: 'Memory stores: writing, retrieving, moving and erasing memories',
  monitoring: 'Statistics for dashboards',
  offboarding: 'Destroying the keys of a tenant that leaves',
  orchestrator: 'Agents and their runs: permits, budgets, approvals and receipts',
  platform: 'Probes for orchestrators',
  provenance: 'Registry of sealed training corpora',
  reports: 'Regulatory reports on the evidence on record',
  retention: 'Retention periods and legal holds of stores',
  streams: 'Events of a tenant as they happen',
  subjects: 'Requests of data subjects for erasure or access',
  templates: 'Predefined world models',
  tenants: 'Tenants and their usage',
  webhooks: 'Endpoints that entries of the audit log are sent to',
  workflows: 'Agents that take turns in runs which this service executes',
  world_model: 'Types of objects, links and actions, and the actions that were invoked',
}

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API key as a bearer token' },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'An API key' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-custos_session',
    description:
      'The cookie of a session, see `identity.sign_in`. Requests that are not a GET need the ' +
      'header `x-custos-csrf` too.',
  },
}

function describeOperation(operation: OperationSpec, parts: OpenapiParts): Json {
  const parameters = parts.parametersOf(operation)
  const codes = refusalsOf(operation)
  return {
    operationId: operation.id,
    tags: [groupOf(operation)],
    summary: operation.summary,
    ...describe(operation),
    ...(operation.access === 'public' ? { security: [] } : {}),
    'x-access': operation.access,
    ...(operation.scope ? { 'x-scope': operation.scope } : {}),
    ...(operation.safe ? { 'x-safe': true } : {}),
    ...(operation.namespaced ? { 'x-namespaced': true } : {}),
    ...(operation.extra_scopes ? { 'x-scopes-too': operation.extra_scopes } : {}),
    'x-refusals': codes.filter((code) => !COMMON.has(code) || operation.refuses.includes(code)),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...requestBody(operation, parts),
    responses: { ...success(operation, parts), ...parts.problemsOf(codes, operation) },
  }
}

function describe({ description, tolerated = [] }: OperationSpec): Json {
  const names = tolerated.map((name) => `\`${name}\``).join(', ')
  const sentences = [description, names && `Accepted and ignored: ${names}.`].filter(Boolean)
  return sentences.length === 0 ? {} : { description: sentences.join(' ') }
}

const COMMON: ReadonlySet<RefusalCode> = new Set(COMMON_REFUSALS)
const NEEDS_CREDENTIAL: ReadonlySet<RefusalCode> = new Set([
  'unauthenticated',
  'credentials_differ',
  'scope_missing',
  'origin_refused',
  'rate_limited',
])
/**
 * Refusals about a body. A GET has none of them, because its body is not read. Operations with
 * other methods have them even if they take no body, because they refuse a body that is sent.
 */
const NEEDS_BODY: ReadonlySet<RefusalCode> = new Set([
  'malformed_json',
  'body_too_large',
  'unsupported_media_type',
])

function refusalsOf(operation: OperationSpec): RefusalCode[] {
  const takesBody = [operation.body, operation.body_type, operation.raw_body].some(Boolean)
  const common = COMMON_REFUSALS.filter(
    (code) =>
      (operation.method !== 'GET' || !NEEDS_BODY.has(code)) &&
      (takesBody || code !== 'signing_key_refused') &&
      (operation.access !== 'public' || !NEEDS_CREDENTIAL.has(code)),
  )
  return [...new Set([...operation.refuses, ...edgeRefusals(operation), ...common])]
}

function requestBody(
  { body, body_type, body_optional, raw_body, example }: OperationSpec,
  parts: OpenapiParts,
) {
  if (!body && !body_type && !raw_body) return {}
  const schema = body ? { schema: parts.schemas.write(body) } : {}
  const content = example === undefined ? schema : { ...schema, example }
  return {
    requestBody: {
      required: !body_optional,
      content: { [body_type ?? 'application/json']: content },
    },
  }
}

const REPLIES: Readonly<Record<string, string>> = {
  'application/x-ndjson': 'One JSON object per line',
  'text/event-stream': 'Server-sent events; the schema is that of `data`',
}

function success(operation: OperationSpec, parts: OpenapiParts): Json {
  const { reply, reply_type = 'application/json', accepted, preview, ends } = operation
  const headers = parts.headersOf(operation)
  if (operation.status === 302)
    return {
      302: { description: 'The browser goes on elsewhere', headers: { ...headers, ...LOCATION } },
    }
  const json = (description: string, schema: unknown) => ({
    description,
    headers,
    content: { 'application/json': { schema: parts.schemas.write(schema) } },
  })
  return {
    [operation.status]: {
      description: REPLIES[reply_type] ?? 'Success',
      headers,
      content: {
        [reply_type]: { schema: parts.schemas.write(reply) },
        ...fileTypes(operation),
        ...(operation.may_stream === 'application/x-ndjson' ? { [operation.may_stream]: {} } : {}),
      },
    },
    ...(accepted ? { 202: json('The operation was accepted and is not finished', accepted) } : {}),
    ...(preview ? { 200: json('A preview; nothing was changed', preview) } : {}),
    ...(ends ? { 204: { description: 'Nothing is left of the stream', headers } } : {}),
  }
}

const LOCATION = {
  Location: { description: 'Where the browser goes on', schema: { type: 'string' } },
}

const FILE_SCHEMAS: Readonly<Record<string, Json>> = {
  'application/json': { schema: { type: 'object' } },
  'text/html': { schema: { type: 'string' } },
}

/** File types beside the reply: texts have a schema, bytes have none (OpenAPI 3.1, 4.8.14.3). */
const fileTypes = ({ file_types = [], reply_type = 'application/json' }: OperationSpec): Json =>
  Object.fromEntries(
    file_types
      .map((type) => type.split(';', 1)[0] ?? type)
      .filter((type) => type !== reply_type)
      .map((type) => [type, FILE_SCHEMAS[type] ?? {}]),
  )
