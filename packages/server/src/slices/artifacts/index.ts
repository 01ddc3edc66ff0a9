// The artifact registry: its description, and the handlers of its operations.

import {
  type artifacts,
  type artifacts as contract,
  LISTED_ARTIFACT_BYTES_MAX,
} from '@custos/contract'
import {
  type ArtifactLayer,
  type ArtifactRequest,
  artifactContent,
  isObject,
  type JsonObject,
  manifestDigest,
} from '@custos/proof'
import type { Call, Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { requireMetadataLimits } from '../../platform/validation.ts'
import {
  answerProposal,
  certifyArtifact,
  checksOf,
  findRecord,
  isDocumentLarger,
  loadRecord,
  normalizeDigest,
  type OpenRecord,
  proposeRecord,
  type Registry,
  registryHandlers,
  showRow,
  unsignedReason,
  verifyDocument,
} from '../records/index.ts'
import { meter } from '../tenants/index.ts'

export const artifactRegistry: Registry<ArtifactRequest> = {
  kind: 'artifact',
  id_field: 'artifact_id',
  schema_version: 'modelpack/1',
  issued_status: 'registered',
  approvable: true,
  not_found: 'artifact_not_found',
  operation: () => 'artifacts.register',
  context: ({ artifact_ref, base_model_ref, kind, metadata }) => ({
    artifact_ref,
    base_model_ref,
    kind,
    metadata,
  }),
  content: (request) => artifactContent({ ...request, layer_hashes: hashesOf(request.layers) }),
  name: ({ artifact_ref }) => artifact_ref,
  async fields({ request }) {
    const layer_hashes = hashesOf(request.layers)
    const manifest_digest = manifestDigest({ ...request, layer_hashes })
    return { document: { ...request, layer_hashes, manifest_digest } }
  },
}

const hashesOf = (layers: readonly ArtifactLayer[]): string[] => layers.map(({ digest }) => digest)

/** The request of an artifact record, which only this registry writes. */
const requestOf = ({ request }: OpenRecord): ArtifactRequest => request as ArtifactRequest

function showArtifact(record: OpenRecord, tenant_id: string) {
  const { artifact_ref, base_model_ref, kind, layers, metadata } = requestOf(record)
  const layer_hashes = hashesOf(layers)
  return {
    artifact_id: record.row.record_id,
    artifact_ref,
    base_model_ref,
    kind,
    layer_hashes,
    manifest_digest: manifestDigest({ base_model_ref, kind, layer_hashes }),
    metadata: { ...metadata },
    certificate_id: record.row.linked_id,
    ...showRow(record, tenant_id),
  }
}

/** Omits large documents: a page of two hundred with a thousand layers each would be too large. */
function showListed(record: OpenRecord, tenant_id: string) {
  const shown = showArtifact(record, tenant_id)
  return isDocumentLarger(record, LISTED_ARTIFACT_BYTES_MAX) ? { ...shown, document: null } : shown
}

const artifactView = {
  id: 'artifact_id',
  listKey: 'artifacts',
  show: showArtifact,
  showListed,
} as const

/** Returns why a certificate does not certify an artifact, or `null` if it does. */
function findCertificateFault({ row, document }: OpenRecord, artifact: OpenRecord): string | null {
  if (row.status !== 'issued' || document === null) return 'the certificate was not issued'
  const { layers, ...request } = requestOf(artifact)
  const content = artifactContent({ ...request, layer_hashes: hashesOf(layers) })
  if (certifiedContent(document) === content) return null
  return 'the certificate is about another artifact'
}

/** The artifact content that a certificate names, or `null` if it names none. */
function certifiedContent({ artifact }: JsonObject): string | null {
  if (!isObject(artifact)) return null
  const { artifact_ref, base_model_ref, kind, layer_hashes } = artifact
  if (!Array.isArray(layer_hashes)) return null
  return artifactContent({
    artifact_ref: String(artifact_ref),
    base_model_ref: String(base_model_ref),
    kind: String(kind),
    layer_hashes: layer_hashes.map(String),
  })
}

/** POST /v1/artifacts/register: an artifact, signed, or waiting for a person. */
const register: Handler<typeof contract.register> = async (call, { body }) => {
  const metadata = body.metadata ?? {}
  requireMetadataLimits(['body', 'metadata'], metadata)
  const request: ArtifactRequest = {
    artifact_ref: body.artifact_ref,
    base_model_ref: body.base_model_ref,
    kind: body.kind ?? 'lora+rag',
    layers: body.layers.map(({ media_type = null, digest, size = null }) => ({
      media_type,
      size,
      digest: normalizeDigest(digest),
    })),
    // Parsed from JSON, so its values are JSON values.
    metadata: metadata as JsonObject,
  }
  return answerProposal(call, await proposeRecord(call, artifactRegistry, request), artifactView)
}

/** POST /v1/artifacts/{artifact_id}/certify: links an artifact to its landing certificate. */
const certify: Handler<typeof contract.certify> = async (call, { params, body }) => {
  const { tenant_id, operation } = call
  const { artifact_id } = params
  const { certificate_id } = body
  const artifact = await loadRecord(call, artifactRegistry, artifact_id)
  const certificate =
    (await findCertificate(call, certificate_id)) ?? call.refuse('landing_not_found')
  const fault = findCertificateFault(certificate, artifact)
  if (fault !== null) return call.refuse('rejected', fault)

  await call.once<string>({
    async run(tx) {
      const changed = await certifyArtifact(tx, artifact_id, certificate_id)
      if (!changed && !isCertifiedBy(artifact, certificate_id)) call.refuse('wrong_state')
      meter(tx, operation.id)
      return { reply: certificate_id, ids: { artifact_id } }
    },
    replay: async () => certificate_id,
  })
  return showArtifact(await loadRecord(call, artifactRegistry, artifact_id), tenant_id)
}

const findCertificate = ({ kernel, tenant_id }: Call, record_id: string) =>
  findRecord(kernel, tenant_id, { kind: 'landing', record_id })

const isCertifiedBy = ({ row }: OpenRecord, certificate_id: string): boolean =>
  row.status === 'certified' && row.linked_id === certificate_id

/** GET /v1/artifacts/{artifact_id}/verify: its signature, its row and its certificate. */
const verify: Handler<typeof contract.verify> = async (call, { params }) => {
  const record = await loadRecord(call, artifactRegistry, params.artifact_id)
  const verdict = await verifyDocument(call.kernel, artifactRegistry, record)
  const certificate = await checkCertificate(call, record)
  const { status, linked_id } = record.row
  const digest = record.document?.['manifest_digest'] ?? null
  const signed = verdict ? checksOf(verdict) : { signature: false, manifest_consistent: false }
  const reason = verdict ? (verdict.reason ?? null) : unsignedReason(record, 'nothing was signed')
  return {
    artifact_id: params.artifact_id,
    passed: (verdict?.valid ?? false) && certificate.fault === null,
    checks: { ...signed, ...certificate.checks },
    manifest_digest: digest === null ? null : String(digest),
    status,
    certificate_id: linked_id,
    not_checked: [...(verdict?.not_checked ?? [])],
    reason: reason ?? certificate.fault,
  }
}

/** Checks that an artifact's certificate exists, was issued, and names this artifact. */
async function checkCertificate(
  call: Call,
  artifact: OpenRecord,
): Promise<{ checks: { certificate?: boolean }; fault: string | null }> {
  const { status, linked_id } = artifact.row
  if (status !== 'certified') return { checks: {}, fault: null }
  const found = await findCertificate(call, linked_id ?? '')
  const fault = found ? findCertificateFault(found, artifact) : 'the certificate does not exist'
  return { checks: { certificate: fault === null }, fault }
}

/** POST /v1/artifacts/{artifact_id}/integrity: compares layer hashes with the registered ones. */
const integrity: Handler<typeof contract.integrity> = async (call, { params, body }) => {
  const record = await loadRecord(call, artifactRegistry, params.artifact_id)
  const registered = hashesOf(requestOf(record).layers)
  const supplied = body.layer_hashes.map(normalizeDigest)
  const match =
    supplied.length === registered.length && supplied.every((hash, i) => hash === registered[i])
  return { match, registered, supplied }
}

export const artifactsHandlers = {
  ...registryHandlers(artifactRegistry, artifactView),
  register,
  verify,
  integrity,
  certify,
} satisfies HandlersOf<typeof artifacts>
