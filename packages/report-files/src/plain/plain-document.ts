// Documents of headings, texts and fields, which a page and a PDF are made from: what is held
// about a person, a certificate of an erasure, and a manifest of certificates.

import type { Certificate, JsonObject, Manifest } from '@custos/contract'

export type Block =
  | { readonly kind: 'heading'; readonly level: 2 | 3; readonly text: string }
  | { readonly kind: 'text'; readonly text: string; readonly strong?: true }
  | { readonly kind: 'fields'; readonly rows: readonly (readonly [string, string])[] }
  | {
      readonly kind: 'table'
      readonly heads: readonly string[]
      readonly rows: string[][]
      /** Column widths as shares of the page width; default: half of it for the last column. */
      readonly shares?: readonly number[]
    }

export interface PlainDocument {
  /** Text above the title and in the header of every page. */
  readonly about: string
  readonly title: string
  /** Footer of every page. The identifier of a PDF depends on it. */
  readonly foot: string
  readonly created_at: string
  readonly blocks: readonly Block[]
}

/**
 * Every value of a record with its path. A list of texts and numbers is one value, unless a text
 * in it contains a comma.
 * @param omitted paths of the members to leave out, with dots between names
 */
function listFields(record: JsonObject, omitted: readonly string[] = []) {
  const rows: [string, string][] = []
  const visit = (path: readonly string[], value: unknown): void => {
    if (value === null || value === undefined || value === '') return
    if (omitted.includes(path.join('.'))) return
    if (typeof value !== 'object') rows.push([labelOf(path), String(value)])
    else if (Array.isArray(value) && value.every(isListed)) {
      if (value.length > 0) rows.push([labelOf(path), value.join(', ')])
    } else
      for (const [name, member] of Object.entries(value))
        visit([...path, Array.isArray(value) ? String(Number(name) + 1) : name], member)
  }
  visit([], record)
  return rows
}

const isListed = (item: unknown): boolean =>
  typeof item === 'string' ? !item.includes(',') : typeof item !== 'object'

const labelOf = (path: readonly string[]): string =>
  path.map((name) => name.replaceAll('_', ' ')).join(' · ')

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

/** The most entries of a manifest that are shown. The signed JSON has all of them. */
const ENTRIES_SHOWN_MAX = 2_000
const SIGNATURE = ['signed_bytes', 'signature', 'public_key', 'key_id', 'verified']

/** @param digest SHA-256 of the signed bytes, in hex */
export function certificateDocument(certificate: Certificate, digest: string): PlainDocument {
  const { certificate_id, signature, public_key, key_id, limits, verification } = certificate
  const paths = verification.paths.map(({ path, result }) => `${path}: ${result}`)
  const shown = { ...certificate, verification: { ...verification, paths } }
  return {
    about: 'Certificate of an erasure',
    title: `Certificate ${certificate_id}`,
    foot: `SHA-256 of the signed bytes ${digest}`,
    created_at: certificate.erasure_completed_at,
    blocks: [
      ...rendering('certificate', `GET /v1/erasure/${certificate_id}`),
      { kind: 'fields', rows: [['SHA-256 of the signed bytes', digest]] },
      { kind: 'heading', level: 2, text: 'The certificate' },
      { kind: 'fields', rows: listFields(shown, [...SIGNATURE, 'limits']) },
      { kind: 'heading', level: 2, text: 'What it does not cover' },
      ...limits.map((text): Block => ({ kind: 'text', text })),
      { kind: 'heading', level: 2, text: 'Signature' },
      { kind: 'fields', rows: listFields({ signature, public_key, key_id }) },
    ],
  }
}

/** @param digest SHA-256 of the signed bytes, in hex */
export function manifestDocument(manifest: Manifest, digest: string): PlainDocument {
  const { request_id, signature, public_key, key_id, entries } = manifest
  const shown = entries.slice(0, ENTRIES_SHOWN_MAX)
  const left = entries.length - shown.length
  return {
    about: 'Manifest of the erasure of a data subject',
    title: `Manifest of request ${request_id}`,
    foot: `SHA-256 of the signed bytes ${digest}`,
    created_at: manifest.completed_at,
    blocks: [
      ...rendering('manifest', `GET /v1/erasure/subject/${request_id}/manifest?format=bundle`),
      { kind: 'fields', rows: [['SHA-256 of the signed bytes', digest]] },
      { kind: 'heading', level: 2, text: 'The manifest' },
      { kind: 'fields', rows: listFields({ ...manifest }, [...SIGNATURE, 'entries']) },
      { kind: 'heading', level: 2, text: 'Entries' },
      shown.length === 0
        ? { kind: 'text', text: 'Nothing was found.' }
        : {
            kind: 'table',
            heads: ['Item', 'Outcome', 'Certificate', 'SHA-256 of the certificate'],
            shares: [0.27, 0.09, 0.3, 0.34],
            rows: shown.map((entry) => [
              itemOf(entry),
              entry.outcome,
              entry.certificate_id ?? '–',
              entry.certificate_digest ?? '–',
            ]),
          },
      ...(left === 0
        ? []
        : [{ kind: 'text', text: `${left} more entries are in the signed JSON.` } as const]),
      { kind: 'heading', level: 2, text: 'Signature' },
      { kind: 'fields', rows: listFields({ signature, public_key, key_id }) },
    ],
  }
}

const itemOf = (entry: Manifest['entries'][number]): string => {
  if (entry.fact_ref !== undefined) return `memory ${entry.fact_ref}`
  if (entry.decision_id !== undefined) return `decision ${entry.decision_id}`
  return `${entry.subject_kind} ${entry.subject_id}`
}

const rendering = (what: string, request: string): Block[] => [
  { kind: 'text', strong: true, text: `This file is a rendering. It is not the signed ${what}.` },
  {
    kind: 'text',
    text:
      `To check it: the signed ${what} is the JSON that “${request}” returns. It must have the ` +
      'id and the SHA-256 below. “custos verify FILE --keys KEYS” checks its signature without ' +
      'asking the service, with the keys that “GET /v1/gcrumbs/public_key” publishes.',
  },
]
