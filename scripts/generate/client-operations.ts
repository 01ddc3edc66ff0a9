// Generates client sources from the contract: types, operation table, groups of methods.

import type { OperationSpec } from '@custos/contract'
import * as contract from '@custos/contract'
import { comment, isRecord, TypePrinter } from './client-types.ts'

const NOTE = 'Generated from the contract by `npm run generate`.'
const FOLDER = 'packages/client/src/generated'

/** Redirects are for browsers, so that the client has no methods for them. */
export const isRedirect = ({ status }: OperationSpec): boolean => status === 302

/** The generated sources of the client by path, and the test that checks them by the schemas. */
export function clientSources(operations: readonly OperationSpec[]): [string, string][] {
  const sorted = operations
    .filter((operation) => !isRedirect(operation))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
  return [
    [`${FOLDER}/types.ts`, typesSource(sorted)],
    [`${FOLDER}/operations.ts`, operationsSource(sorted)],
    [`${FOLDER}/groups.ts`, groupsSource(sorted)],
    ['test/client/generated/same-types.ts', sameTypesSource(sorted)],
  ]
}

const upper = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)
const camel = (words: string): string =>
  words
    .split(/[_.]/)
    .map((word, i) => (i === 0 ? word : upper(word)))
    .join('')

/** The name of an operation in the operation table: `memoryWrite` for `memory.write`. */
export const constantOf = ({ id }: OperationSpec): string => camel(id)
const typeOf = (operation: OperationSpec, part: string): string =>
  `${upper(constantOf(operation))}${part}`

/** The parts of an operation that have a type of their own. */
const PARTS = [
  ['Query', 'query'],
  ['Body', 'body'],
  ['Reply', 'reply'],
  ['Accepted', 'accepted'],
  ['Preview', 'preview'],
] as const

const hasFields = (schema: unknown): boolean =>
  !isRecord(schema) ||
  !isRecord(schema['properties']) ||
  Object.keys(schema['properties']).length > 0

function partsOf(operation: OperationSpec) {
  return PARTS.flatMap(([suffix, key]) => {
    const schema = operation[key]
    if (schema === undefined || (key === 'query' && !hasFields(schema))) return []
    return [{ name: typeOf(operation, suffix), key, schema }]
  })
}

function typesSource(operations: readonly OperationSpec[]): string {
  const printer = new TypePrinter()
  const own: string[] = []
  for (const operation of operations)
    for (const { name, key, schema } of partsOf(operation))
      own.push(
        comment(`The ${key} of \`${operation.id}\`.`, '') +
          `export type ${name} = ${printer.print(schema, '')}\n`,
      )
  return [
    `// Records, bodies and replies of the interface. ${NOTE}\n`,
    refusalTypes(operations),
    ...printer.declarations,
    ...own,
  ].join('\n')
}

function refusalTypes(operations: readonly OperationSpec[]): string {
  const list = (codes: readonly string[]) => codes.map((code) => `  | '${code}'\n`).join('')
  const own = operations.map(({ id, refuses }) => {
    const codes = [...new Set(refuses)].map((code) => `    | '${code}'\n`).join('')
    return `  '${id}':\n    | CommonRefusal\n${codes}`
  })
  return [
    comment('Every error code of the service.', ''),
    `export type RefusalCode =\n${list(Object.keys(contract.refusals))}\n`,
    comment('Error codes that any operation may answer with.', ''),
    `export type CommonRefusal =\n${list(contract.COMMON_REFUSALS)}\n`,
    comment('The error codes of each operation.', ''),
    `export interface Refusals {\n${own.join('')}}\n`,
  ].join('')
}

/** The names of path parameters in the order of the path. */
const pathNames = ({ path }: OperationSpec): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)

function pathArguments(operation: OperationSpec): string[] {
  const printer = new TypePrinter()
  const properties = isRecord(operation.params) ? operation.params['properties'] : undefined
  return pathNames(operation).map((name) => {
    const schema = isRecord(properties) ? properties[name] : undefined
    return `${camel(name)}: ${printer.inFull(isRecord(schema) ? schema : {}, '')}`
  })
}

/** The arguments after the path parameters: the body, the query, or the body and then the query. */
function takes({ body, raw_body, query }: OperationSpec): 'body' | 'query' | 'both' | undefined {
  const asks = query !== undefined && hasFields(query)
  const sends = body !== undefined || raw_body === true
  if (sends) return asks ? 'both' : 'body'
  return asks ? 'query' : undefined
}

function bodyArgument(operation: OperationSpec): string {
  if (operation.raw_body) return 'body: Uint8Array | string'
  const type = `types.${typeOf(operation, 'Body')}`
  if (operation.body_type === 'application/x-ndjson') return `lines: LineSource<${type}>`
  return `body${operation.body_optional ? '?' : ''}: ${type}`
}

function queryArgument(operation: OperationSpec): string {
  const { query } = operation
  const required =
    isRecord(query) && Array.isArray(query['required']) && query['required'].length > 0
  return `query${required ? '' : '?'}: types.${typeOf(operation, 'Query')}`
}

function argumentsOf(operation: OperationSpec): string[] {
  const sent = takes(operation)
  const events = operation.reply_type === 'text/event-stream'
  const signal = events ? ' & { readonly signal?: AbortSignal }' : ''
  return [
    ...pathArguments(operation),
    ...(sent === 'body' || sent === 'both' ? [bodyArgument(operation)] : []),
    ...(sent === 'query' || sent === 'both' ? [`${queryArgument(operation)}${signal}`] : []),
    'options?: CallOptions',
  ]
}

type Kind = 'json' | 'lines' | 'events' | 'file'

function kindOf({ id, reply_type, file_types, path }: OperationSpec): Kind {
  if (reply_type === 'application/x-ndjson') return 'lines'
  if (reply_type === 'text/event-stream') return 'events'
  const everyFormat = file_types?.includes('application/json; charset=utf-8') === true
  if (everyFormat || reply_type === 'application/octet-stream') return 'file'
  if (file_types !== undefined && !file_types.includes('application/pdf'))
    throw new Error(`${id} (${path}) has files of types that the client does not know`)
  return 'json'
}

/** Values of the query's `format` whose answer is of another kind than the operation's default. */
function formatsOf(operation: OperationSpec): [string, 'file' | 'lines'][] {
  const { query, file_types, may_stream } = operation
  const kind = kindOf(operation)
  if (file_types === undefined || kind === 'file' || !isRecord(query)) return []
  const properties = isRecord(query['properties']) ? query['properties'] : {}
  const format = properties['format']
  const values = isRecord(format) && Array.isArray(format['enum']) ? format['enum'].map(String) : []
  return values.flatMap((value): [string, 'file' | 'lines'][] => {
    if (value === (kind === 'lines' ? 'ndjson' : 'json')) return []
    return [[value, value === 'bundle' && may_stream ? 'lines' : 'file']]
  })
}

function replyType(operation: OperationSpec): string {
  const names = partsOf(operation)
    .filter(({ key }) => key === 'reply' || key === 'accepted' || key === 'preview')
    .map(({ name }) => `types.${name}`)
  switch (kindOf(operation)) {
    case 'lines':
      return `Lines<${names.join(' | ')}>`
    case 'events':
      return `EventFrames<${names.join(' | ')}>`
    case 'file':
      return 'Pending<FileReply>'
    case 'json':
      return `Pending<${names.join(' | ')}>`
  }
}

/** The member of a page that holds its items; undefined if the reply is not a page. */
function itemsOf({ reply, query }: OperationSpec): string | undefined {
  const properties = isRecord(reply) && isRecord(reply['properties']) ? reply['properties'] : {}
  const asked = isRecord(query) && isRecord(query['properties']) ? query['properties'] : {}
  if (!('next_cursor' in properties) || !('cursor' in asked)) return undefined
  return Object.keys(properties).find((name) => {
    const schema = properties[name]
    return isRecord(schema) && schema['type'] === 'array'
  })
}

function operationsSource(operations: readonly OperationSpec[]): string {
  const names = operations.map((row) => `  ${constantOf(row)},\n`)
  const rows = operations.map((operation) => {
    const args = argumentsOf(operation)
    const reply = [replyType(operation), ...alternatives(operation)].join(' | ')
    return [
      comment(`${operation.summary}.`, ''),
      `export const ${constantOf(operation)}: Operation<[${args.join(', ')}], ${reply}> = {\n`,
      ...Object.entries(fieldsOf(operation)).map(([name, value]) => `  ${name}: ${value},\n`),
      '}\n',
    ].join('')
  })
  return [
    `// The operation table: one row an operation, for \`call\`. ${NOTE}\n`,
    "import type { CallOptions, Operation } from '../exchange.ts'",
    "import type { Pending } from '../call-result.ts'",
    "import { type EventFrames, eventFrames } from '../reply-events.ts'",
    "import { type FileReply, file } from '../reply-file.ts'",
    "import { type Lines, type LineSource, lines, sendLines } from '../reply-lines.ts'",
    "import type * as types from './types.ts'",
    '',
    ...rows,
    '// A list: the names of a namespace object would be a tenth of what a browser loads.',
    '/** Every row, in the order of the ids. */',
    `export const OPERATIONS: readonly object[] = [\n${names.join('')}]\n`,
  ].join('\n')
}

/** The types of the answers in the formats of `formatsOf`. */
function alternatives(operation: OperationSpec): string[] {
  const kinds = new Set(formatsOf(operation).map(([, kind]) => kind))
  return [...kinds].map((kind) => (kind === 'file' ? 'Pending<FileReply>' : 'Lines<unknown>'))
}

const ANSWERS = { lines: 'lines', events: 'eventFrames', file: 'file' } as const

/** The members of an operation's row at run time; the values are TypeScript expressions. */
function fieldsOf(operation: OperationSpec): Record<string, string> {
  const { id, method, path, idempotent, body_type, raw_body } = operation
  const sent = takes(operation)
  const kind = kindOf(operation)
  const formats = formatsOf(operation).map(([value, answer]) => `${value}: ${ANSWERS[answer]}`)
  const items = itemsOf(operation)
  return {
    id: `'${id}'`,
    method: `'${method}'`,
    path: `'${path}'`,
    ...(sent === undefined ? {} : { takes: `'${sent}'` }),
    ...(idempotent ? { idempotent: 'true' } : {}),
    ...(isSafe(operation) ? { safe: 'true' } : {}),
    ...(body_type === 'application/x-ndjson' ? { send: 'sendLines' } : {}),
    ...(raw_body ? { raw: 'true' } : {}),
    ...(kind === 'json' ? {} : { answer: ANSWERS[kind] }),
    ...(formats.length === 0 ? {} : { formats: `{ ${formats.join(', ')} }` }),
    ...(items === undefined ? {} : { items: `'${items}'` }),
  }
}

/** Whether a POST changes nothing, so that it may be retried. */
const isSafe = (operation: OperationSpec): boolean =>
  operation.method === 'POST' && 'safe' in operation && operation.safe === true

/** Methods of groups that call several operations; see `custos.ts`. */
const EXTRA_MEMBERS: Readonly<Record<string, string>> = {
  approvals: [
    '  /** Waits until a request is approved; throws NotCompletedError when it is not. */\n',
    '  wait(requestId: string, options?: WaitOptions): Promise<types.ApprovalsRequestReply>\n',
  ].join(''),
  jobs: [
    '  /** Waits until a job is done; throws NotCompletedError when it fails. */\n',
    '  wait(jobId: string, options?: WaitOptions): Promise<types.JobsGetReply>\n',
  ].join(''),
}

function groupsSource(operations: readonly OperationSpec[]): string {
  const byGroup = [...Map.groupBy(operations, ({ id }) => id.split('.')[0] ?? id)]
  const typeName = (group: string) => `${upper(camel(group))}Group`
  const interfaces = byGroup.map(([group, rows]) => {
    const members = `${rows.map(memberOf).join('')}${EXTRA_MEMBERS[group] ?? ''}`
    const about = comment(`The operations \`${group}.*\`.`, '')
    return `${about}export interface ${typeName(group)} {\n${members}}\n`
  })
  const fields = byGroup.map(
    ([group]) => `  declare readonly ${camel(group)}: ${typeName(group)}\n`,
  )
  const table = byGroup.map(([group, rows]) => [group, ...rows.map(tableLine).sort()].join('\n'))
  return [
    `// The methods of the client: one group for each prefix of the operation ids. ${NOTE}\n`,
    "import { Client } from '../client.ts'",
    "import type { ClientOptions } from '../client.ts'",
    "import { addGroups } from '../group.ts'",
    "import type { CallOptions } from '../exchange.ts'",
    "import type { PagedMethod } from '../page-iterators.ts'",
    "import type { Pending } from '../call-result.ts'",
    "import type { EventFrames } from '../reply-events.ts'",
    "import type { FileReply } from '../reply-file.ts'",
    "import type { Lines, LineSource } from '../reply-lines.ts'",
    "import type { WaitOptions } from '../waits.ts'",
    "import type * as types from './types.ts'",
    '',
    ...interfaces,
    '/** A client with every operation as a method. */',
    'export class Groups extends Client {',
    `${fields.join('')}\n  constructor(options: ClientOptions) {`,
    '    super(options)\n    addGroups(this, TABLE)\n  }\n}\n',
    '// The rows of `operations.ts` in a third of their bytes: see `group.ts`.',
    `const TABLE = \`${table.join('\n')}\`\n`,
  ].join('\n')
}

/** The flag letters of a row; see `group.ts`. */
const FLAGS = { body: 'b', query: 'q', both: '2' } as const
const ANSWER_FLAGS = { json: '', lines: 'l', events: 'e', file: 'f' } as const

/** A row in the format that `group.ts` parses: `path METHOD verb flags .items format=flag`. */
function tableLine(operation: OperationSpec): string {
  const { id, method, path, idempotent, body_type, raw_body } = operation
  const sent = takes(operation)
  const flags = [
    sent ? FLAGS[sent] : '',
    idempotent ? 'i' : '',
    isSafe(operation) ? 's' : '',
    body_type === 'application/x-ndjson' ? 'n' : '',
    raw_body ? 'r' : '',
    ANSWER_FLAGS[kindOf(operation)],
  ].join('')
  const items = itemsOf(operation)
  const verb = id.slice(id.indexOf('.') + 1)
  const end = `/${verb.replaceAll('_', '-')}`
  const short = path.replace(/^\/v1\//, '')
  return [
    short.endsWith(end) ? `${short.slice(0, -end.length)}~` : short,
    method,
    verb,
    ...(flags === '' ? [] : [flags]),
    ...(items === undefined ? [] : [`.${items}`]),
    ...formatsOf(operation).map(([format, answer]) => `${format}=${ANSWER_FLAGS[answer]}`),
  ].join(' ')
}

function memberOf(operation: OperationSpec): string {
  const { id, summary, description } = operation
  const name = camel(id.slice(id.indexOf('.') + 1))
  const about = comment(`${summary}.${description ? `\n\n${description}` : ''}`, '  ')
  const args = argumentsOf(operation).join(', ')
  const items = itemsOf(operation)
  if (items !== undefined) {
    const reply = `types.${typeOf(operation, 'Reply')}`
    const item = `${reply}['${items}'][number]`
    return `${about}  readonly ${name}: PagedMethod<[${args}], ${reply}, ${item}>\n`
  }
  const overloads = formatsOf(operation).map(([format, kind]) => {
    const query = `query: types.${typeOf(operation, 'Query')} & { format: '${format}' }`
    const known = args.replace(/query\??: [\w.]+/, query).replace('body?:', 'body:')
    const reply = kind === 'file' ? 'Pending<FileReply>' : 'Lines<unknown>'
    return `${about}  ${name}(${known}): ${reply}\n`
  })
  return `${overloads.join('')}${about}  ${name}(${args}): ${replyType(operation)}\n`
}

/** The contract's row of each operation, as a TypeScript expression. */
function rowNames(): Map<string, string> {
  const names = new Map<string, string>()
  for (const [group, rows] of Object.entries(contract))
    for (const [key, row] of isRecord(rows) ? Object.entries(rows) : [])
      if (isRecord(row) && typeof row['id'] === 'string' && 'refuses' in row)
        names.set(row['id'], `contract.${group}.${key}`)
  return names
}

/** Source that compiles only if each generated type is identical to the type of its schema. */
function sameTypesSource(operations: readonly OperationSpec[]): string {
  const names = rowNames()
  const lines = operations.flatMap((operation) =>
    partsOf(operation).map(
      ({ name, key }) =>
        `  SameType<client.${name}, Static<(typeof ${names.get(operation.id)})['${key}']>>,\n`,
    ),
  )
  return [
    `// Each type of the client is that of its schema in the contract. ${NOTE}\n`,
    "import type * as client from '@custos/client/types'",
    "import type * as contract from '@custos/contract'",
    "import type { Static } from 'typebox'",
    '',
    'type SameType<A, B> =',
    '  (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : [A, B]',
    '',
    '/** Each member is `true`; another one names the two types that differ. */',
    `export type SameTypes = [\n${lines.join('')}]`,
    '',
  ].join('\n')
}
