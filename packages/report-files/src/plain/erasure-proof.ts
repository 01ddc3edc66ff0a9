// A certificate of an erasure and a manifest of certificates, as documents for people.

import type { Certificate, Manifest } from '@custos/contract'
import { type Block, listFields, type PlainDocument } from './plain-document.ts'

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
