// Collects the licences that records state: their own, and those of records that they refer to.

import { artifactContent, isObject, type JsonObject, NO_LICENSE, NOT_SPDX } from '@custos/proof'
import {
  findByContent,
  findByName,
  findRecord,
  type OpenRecord,
  type TenantRecords,
} from '../records/index.ts'

interface StatedLicenses {
  /** The record's own licence, which a claim must equal; null: the record states none. */
  readonly license: string | null
  /** All licences that apply in addition to a claim; includes `license`. */
  readonly licenses: readonly string[]
}

const NOTHING: StatedLicenses = { license: null, licenses: [] }

/** Reads the licences of many records; opens a record that several of them refer to only once. */
export function statedLicenses({ kernel, tenant_id }: TenantRecords) {
  const find = (kind: 'artifact' | 'landing' | 'corpus', record_id: unknown) =>
    typeof record_id === 'string' ? findRecord(kernel, tenant_id, { kind, record_id }) : null
  const corpora = memoize(async (record_id: string) =>
    ofCorpus((await find('corpus', record_id))?.document ?? {}),
  )
  // The artifact may have been registered from any of these compositions, so all of them count.
  const composed = memoize(async (name: string) => {
    const named = await findByName(kernel, tenant_id, { kind: 'composition', name })
    return named.flatMap(({ document }) => ofComposition(document ?? {}))
  })

  const ofCertificate = async (certificate: OpenRecord | null): Promise<readonly string[]> => {
    const { corpus_id } = evidenceOf(certificate)
    return typeof corpus_id === 'string' ? corpora(corpus_id) : []
  }
  const ofArtifact = async ({ request }: OpenRecord): Promise<StatedLicenses> => {
    const license = licenseOf(request)
    const own = license === null ? [] : [license]
    return { license, licenses: [...own, ...(await composed(String(request['artifact_ref'])))] }
  }
  const ofLanding = async (certificate: OpenRecord): Promise<StatedLicenses> => {
    const artifact =
      (await find('artifact', evidenceOf(certificate)['artifact_id'])) ??
      (await findCertified({ kernel, tenant_id }, certificate))
    const stated = artifact === null ? NOTHING : await ofArtifact(artifact)
    return addLicenses(stated, await ofCertificate(certificate))
  }

  const of = {
    artifact: async (artifact: OpenRecord) =>
      addLicenses(
        await ofArtifact(artifact),
        await ofCertificate(await find('landing', artifact.row.linked_id)),
      ),
    landing: ofLanding,
    corpus: async ({ row }: OpenRecord) => addLicenses(NOTHING, await corpora(row.record_id)),
    composition: async ({ document }: OpenRecord) =>
      addLicenses(NOTHING, ofComposition(document ?? {})),
  }
  return (kind: keyof typeof of, record: OpenRecord): Promise<StatedLicenses> => of[kind](record)
}

function memoize<T>(read: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const known = new Map<string, T>()
  return async (key) => {
    const found = known.get(key) ?? (await read(key))
    known.set(key, found)
    return found
  }
}

const addLicenses = (
  { license, licenses }: StatedLicenses,
  more: readonly string[],
): StatedLicenses => ({
  license,
  licenses: [...new Set([...licenses, ...more])].sort(),
})

/** Finds the artifact of a certificate, if it was registered after the certificate. */
async function findCertified(
  { kernel, tenant_id }: TenantRecords,
  { document }: OpenRecord,
): Promise<OpenRecord | null> {
  const artifact = document?.['artifact']
  if (!isObject(artifact) || !Array.isArray(artifact['layer_hashes'])) return null
  const { artifact_ref, base_model_ref, kind, layer_hashes } = artifact
  const content = artifactContent({
    artifact_ref: String(artifact_ref),
    base_model_ref: String(base_model_ref),
    kind: String(kind),
    layer_hashes: layer_hashes.map(String),
  })
  return findByContent(kernel, tenant_id, { kind: 'artifact', content })
}

function evidenceOf(certificate: OpenRecord | null): JsonObject {
  const conformance = certificate?.document?.['conformance']
  const evidence = isObject(conformance) ? conformance['evidence'] : null
  return isObject(evidence) ? evidence : {}
}

/** The distinct licences of a corpus's sources; NO_LICENSE for a source with a lawful basis. */
function ofCorpus({ sources }: JsonObject): readonly string[] {
  const listed = Array.isArray(sources) ? sources.filter(isObject) : []
  return [...new Set(listed.map(({ license }) => textOf(license) ?? NO_LICENSE))]
}

/** The licences of a composition's verdict, in the spelling of the caller. */
function ofComposition({ license_verdict }: JsonObject): string[] {
  const terms = isObject(license_verdict) ? license_verdict['terms'] : undefined
  const texts = Array.isArray(terms) ? terms.filter((term) => typeof term === 'string') : []
  return texts.map((term) => (term.startsWith(NOT_SPDX) ? term.slice(NOT_SPDX.length) : term))
}

const licenseOf = ({ metadata }: JsonObject): string | null =>
  isObject(metadata) ? textOf(metadata['license']) : null

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : null
