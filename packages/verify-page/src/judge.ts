// The judgement of each document: the verdict of the verifier, or the reason why there cannot be
// one.

import {
  type Envelope,
  isEnvelope,
  isObject,
  type PublishedKey,
  readKeyList,
  readSavedDocuments,
  type SavedDocument,
  sha256,
  toHex,
  type Verdict,
  verifySavedDocument,
} from '@custos/proof'

/** The reason why there is no verdict. */
type Obstacle = 'no_keys' | 'no_ed25519' | 'no_entry' | 'unknown'

export interface SavedFile {
  readonly name: string
  readonly text: string
  /** Hex SHA-256 of the bytes. */
  readonly digest: string
}

export interface Judgement {
  readonly document: SavedDocument
  readonly type: string
  readonly outcome: 'valid' | 'not_valid' | 'cannot_judge'
  readonly obstacle: Obstacle | null
  readonly verdict: Verdict | null
}

/** Number of documents to verify between pauses, so that the page stays responsive. */
const AT_ONCE = 32

export function toSavedFile(name: string, bytes: Uint8Array): SavedFile {
  return { name, text: new TextDecoder().decode(bytes), digest: toHex(sha256(bytes)) }
}

/** Whether the file is a key list and nothing else. A bundle has documents beside its keys. */
export const isKeyFile = ({ text }: SavedFile): boolean =>
  readKeyList(text).length > 0 && documentsOf(text).every(({ kind }) => kind === 'unknown')

/** The documents of a file. Items of a page or list become separate documents. */
export function documentsOf(text: string): SavedDocument[] {
  return readSavedDocuments(text).flatMap((document) => {
    if (document.kind !== 'json' || document.envelope.type !== 'list') return [document]
    const { where, envelope, saved } = document
    return envelope.items.map((item, i) => {
      const place = where === '' ? `item ${i + 1}` : `${where}, item ${i + 1}`
      return isEnvelope(item) && item.type !== 'list'
        ? { kind: 'json', where: place, envelope: item, saved: Object(saved)[i] ?? saved }
        : { kind: 'unknown', where: place, reason: 'not a record of a known type' }
    })
  })
}

/** Joins each manifest with its certificates if all of them are among the documents. */
export function joinManifests(documents: readonly SavedDocument[]): SavedDocument[] {
  const certificates = new Map(
    documents.flatMap((document) => {
      if (document.kind !== 'json' || document.envelope.type !== 'certificate') return []
      const { certificate } = document.envelope
      return isObject(certificate) ? [[certificate['certificate_id'], certificate] as const] : []
    }),
  )
  return documents.map((document) => {
    if (document.kind !== 'json' || document.envelope.type !== 'erasure_manifest') return document
    const { envelope } = document
    if (envelope.certificates !== undefined || !isObject(envelope.manifest)) return document
    const { entries } = envelope.manifest
    if (!Array.isArray(entries)) return document
    const ids = entries.flatMap((entry) =>
      isObject(entry) && (entry['certificate_id'] ?? null) !== null
        ? [entry['certificate_id']]
        : [],
    )
    const found = ids.map((id) => certificates.get(id))
    if (ids.length === 0 || found.includes(undefined)) return document
    return { ...document, envelope: { ...envelope, certificates: found } }
  })
}

/** The log entries among the documents, from which a tlog-proof selects one by its position. */
export function entriesOf(documents: readonly SavedDocument[]): unknown[] {
  return documents.flatMap((document) => {
    if (document.kind !== 'json') return []
    const { envelope } = document
    if (envelope.type === 'breadcrumbs')
      return Array.isArray(envelope.breadcrumbs) ? envelope.breadcrumbs : []
    if (envelope.type !== 'proof' || !isObject(envelope.proof)) return []
    return [envelope.proof['breadcrumb']]
  })
}

export interface Trust {
  readonly keys: readonly PublishedKey[]
  readonly entries: readonly unknown[]
}

/** Judges documents in their order. `show` is called with the number that is done. */
export async function judgeAll(
  documents: readonly SavedDocument[],
  trust: Trust,
  show: (done: number) => void = () => {},
): Promise<Judgement[]> {
  const judgements: Judgement[] = []
  for (let first = 0; first < documents.length; first += AT_ONCE) {
    const some = documents.slice(first, first + AT_ONCE).map((one) => judge(one, trust))
    judgements.push(...(await Promise.all(some)))
    show(judgements.length)
    await new Promise((resolve) => setTimeout(resolve, 0))
  }
  return judgements
}

export async function judge(document: SavedDocument, trust: Trust): Promise<Judgement> {
  if (document.kind === 'unknown') return obstructed(document, 'unknown', null)
  const { keys } = trust
  let entry: unknown
  let verdict: Verdict
  try {
    if (document.kind === 'tlog_proof') entry = await findEntry(document, trust)
    verdict = await verifySavedDocument(document, { keys, entry })
  } catch {
    // The verifier rejects only if the browser has no Ed25519.
    return obstructed(document, 'no_ed25519', null)
  }
  if (verdict.valid) return { ...obstructed(document, null, verdict), outcome: 'valid' }
  const failed = verdict.checks.filter(({ ok }) => !ok)
  if (keys.length === 0 && failed.every(({ detail }) => KEY_WANTED.test(detail ?? '')))
    return obstructed(document, 'no_keys', verdict)
  if (entry === undefined && failed.every(({ name }) => name === 'entry'))
    return obstructed(document, 'no_entry', verdict)
  return { ...obstructed(document, null, verdict), outcome: 'not_valid' }
}

/** Matches the details of checks that no document can pass without a key list. */
const KEY_WANTED = /(^|[ :])(unknown_key|by no published key)$/

/** The entry at the position in the proof that the proof proves, or else any entry there. */
async function findEntry(
  document: SavedDocument & { readonly kind: 'tlog_proof' },
  { keys, entries }: Trust,
): Promise<unknown> {
  const index = Number(/^index (\d+)$/m.exec(document.text)?.[1] ?? Number.NaN)
  const there = entries.filter((entry) => isObject(entry) && entry['seq'] === index)
  for (const entry of there)
    if ((await verifySavedDocument(document, { keys, entry })).valid) return entry
  return there[0]
}

function obstructed(
  document: SavedDocument,
  obstacle: Obstacle | null,
  verdict: Verdict | null,
): Judgement {
  return { document, type: typeOf(document), outcome: 'cannot_judge', obstacle, verdict }
}

function typeOf(document: SavedDocument): string {
  if (document.kind !== 'json') return document.kind
  const { envelope } = document
  return envelope.type === 'record' ? String(envelope.kind) : envelope.type
}

/** The record in an envelope, which is shown and can be edited. */
export function recordOf(envelope: Envelope): unknown {
  switch (envelope.type) {
    case 'erasure_manifest':
      return envelope.manifest
    case 'consistency':
      return { from: envelope.from, to: envelope.to, path: envelope.path }
    case 'breadcrumbs':
      return envelope.breadcrumbs
    case 'list':
      return envelope.items
    case 'corpus_proof':
      return envelope.proof
    default:
      return Object.entries(envelope).find(([name]) => name === envelope.type)?.[1] ?? null
  }
}
