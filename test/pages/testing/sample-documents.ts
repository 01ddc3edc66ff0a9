// Genuine documents of every kind that the vectors have, each with the keys that it needs.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const VECTORS = join(import.meta.dirname, '..', '..', 'vectors')

export interface SampleDocument {
  readonly name: string
  readonly text: string
  readonly keys: readonly unknown[]
}

const read = (name: string) => JSON.parse(readFileSync(join(VECTORS, name), 'utf8'))
const sample = (name: string, value: unknown, keys: readonly unknown[]): SampleDocument => ({
  name,
  text: typeof value === 'string' ? value : JSON.stringify(value, null, 2),
  keys,
})

export function sampleDocuments(): SampleDocument[] {
  const checkpoint = read('checkpoint.json')
  const { epochs, proof, consistency_path: path, keys } = checkpoint
  const [from, to] = epochs
  const manifests = ['erasure-manifest.json', 'erasure-manifest-texts.json'].map(read)
  const certificates = ['certificate.json', 'certificate-text.json'].map(read)
  const conformance = read('conformance-result.json')
  const receipt = read('receipt.json')
  const reports = read('report.json')
  const identity = read('reputation-identity.json')
  return [
    sample('breadcrumbs', read('breadcrumb.json').breadcrumbs, []),
    ...certificates.map((one, i) => sample(`certificate-${i}`, one.certificate, one.keys)),
    sample('epoch', to, keys),
    sample('checkpoint', to.checkpoint, keys),
    sample('proof', proof, keys),
    sample('consistency', { from, to, path }, keys),
    ...manifests.flatMap((one, i) => [
      sample(`manifest-${i}`, one.manifest, one.keys),
      sample(`manifest-and-certificates-${i}`, [one.manifest, ...one.certificates], one.keys),
    ]),
    sample('conformance-result', conformance.record, conformance.keys),
    sample('receipt', receipt.receipt, receipt.keys),
    ...reports.versions.map((one: { record: unknown }, i: number) =>
      sample(`report-${i}`, one.record, reports.keys),
    ),
    ...identity.attestations.map((one: { attestation: unknown }, i: number) =>
      sample(`attestation-${i}`, one.attestation, [attestationKey(identity.issuer)]),
    ),
  ]
}

/** The issuer's key as a service publishes it. */
const attestationKey = (public_key: string) => ({
  key_id: createHash('sha256').update(public_key, 'hex').digest('hex').slice(0, 16),
  purpose: 'cgr_attestation',
  public_key,
  valid_from: '2026-01-01T00:00:00Z',
  retired_at: null,
})
