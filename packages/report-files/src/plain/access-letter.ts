// The data that is held about a person, as a document with a cover letter.

import type { JsonObject } from '@custos/contract'
import { type Block, listFields, type PlainDocument } from './plain-document.ts'

const NAMES: Readonly<Record<string, string>> = {
  memory: 'Memories',
  decision: 'Decisions',
  certificate: 'Certificates of what was redacted',
}
/** Members with signature bytes, which only the other formats contain. */
const OMITTED = [
  'record',
  ...['', 'source.', 'content.document.'].flatMap((path) =>
    ['signed_bytes', 'signature', 'public_key'].map((name) => path + name),
  ),
]

/** @param lines header, records and end of the NDJSON format */
export function accessLetter(lines: readonly JsonObject[]): PlainDocument {
  const [header = {}, ...rest] = lines
  const records = rest.filter(({ record }) => record !== 'end')
  const sections = [...Map.groupBy(records, ({ record }) => String(record))]
  const counts = sections.map(([kind, some]) => [nameOf(kind), String(some.length)])
  return {
    about: 'Access by the data subject',
    title: 'What is held about you',
    foot: `Request ${header['request_id']}`,
    created_at: String(header['generated_at']),
    blocks: [
      ...coverLetter(header),
      { kind: 'heading', level: 2, text: 'What was found' },
      counts.length === 0
        ? { kind: 'text', text: 'Nothing was found.' }
        : { kind: 'table', heads: ['Kind', 'Number'], rows: counts },
      ...sections.flatMap(([kind, some]) => sectionOf(kind, some)),
    ],
  }
}

function coverLetter(header: JsonObject): Block[] {
  const { request_id, tenant_id, received_at, due_at, generated_at, log_seq } = header
  return [
    {
      kind: 'text',
      text:
        'This is the answer to your request for access to your personal data (Article 15 of the ' +
        'General Data Protection Regulation). It contains a copy of the records that the search ' +
        'below found, as they are stored.',
    },
    {
      kind: 'text',
      text:
        'The letter that comes with this copy tells you for what purposes the data are used, who ' +
        'receives them, how long they are kept and where they come from. You can have them ' +
        'corrected or erased, can object to their use, and can complain to a supervisory ' +
        'authority.',
    },
    { kind: 'heading', level: 2, text: 'The request' },
    {
      kind: 'fields',
      rows: listFields({ request_id, tenant_id, received_at, due_at, generated_at, log_seq }),
    },
    { kind: 'heading', level: 2, text: 'The search' },
    {
      kind: 'fields',
      rows: listFields({
        searched_for: header['find'] ?? null,
        namespace: header['namespace'] ?? null,
        stores: header['store_ids'] ?? null,
        searched: header['searched'] ?? null,
        not_searched: header['not_searched'] ?? null,
      }),
    },
  ]
}

const sectionOf = (kind: string, records: readonly JsonObject[]): Block[] => [
  { kind: 'heading', level: 2, text: nameOf(kind) },
  ...records.flatMap((record): Block[] => [
    { kind: 'heading', level: 3, text: titleOf(kind, record) },
    { kind: 'fields', rows: listFields(record, OMITTED) },
  ]),
]

const nameOf = (kind: string): string => NAMES[kind] ?? `Records: ${kind.replaceAll('_', ' ')}`

function titleOf(kind: string, record: JsonObject): string {
  const id = record['ref'] ?? record['decision_id'] ?? record['certificate_id'] ?? record['id']
  return `${kind.replaceAll('_', ' ')} ${id ?? ''}`.trim()
}
