// The registry of landing certificates: what of one is proposed, computed, signed.

import {
  type LandingCertificate,
  type LandingDocument,
  LISTED_CERTIFICATE_BYTES_MAX,
  type RecordedAuthority,
  TRUST_TIERS,
} from '@custos/contract'
import { claimReasons, type JsonObject, manifestDigest } from '@custos/proof'
import { Refusal } from '../../platform/refusal.ts'
import {
  type AdmittedProposal,
  certifyArtifact,
  type OpenRecord,
  type RecordEffect,
  type Registry,
  recordedAuthority,
  showRow,
} from '../records/index.ts'
import { checkConformance } from './conformance.ts'
import { type NormalLandingRequest, rejected } from './normal-request.ts'

export const CERTIFICATE_ID = 'certificate_id'
const VERSION = 'lc/1'

/** The authority of a request as it holds: a ceiling that is not known allows nothing. */
function authorityOf(
  { authority }: NormalLandingRequest,
  ceiling: string | null,
): RecordedAuthority {
  const known = TRUST_TIERS.find((tier) => tier === ceiling) ?? 'untrusted'
  return recordedAuthority(authority, ceiling === null ? null : known)
}

/** From `fields` to `effect`: what was registered in between is nothing a certificate speaks of. */
const foundArtifacts = new WeakMap<AdmittedProposal<NormalLandingRequest>, string>()

export const landingRegistry: Registry<NormalLandingRequest> = {
  kind: 'landing',
  id_field: CERTIFICATE_ID,
  schema_version: VERSION,
  standing: 'issued',
  waits: true,
  not_found: 'landing_not_found',
  operation: () => 'landing.issue',
  context: ({ artifact_ref, authority }) => ({ artifact_ref, authority }),
  name: ({ artifact_ref }) => artifact_ref,
  fields,
  effect,
}

/** Refuses what does not conform, or what its own claim contradicts: now, not when it was asked. */
async function fields(proposed: AdmittedProposal<NormalLandingRequest>): Promise<JsonObject> {
  const { kernel, tenant_id, request, ceiling } = proposed
  const { artifact_ref, base_model_ref, kind, layer_hashes, data_provenance } = request
  const authority = authorityOf(request, ceiling)
  const { conformance, reasons, not_checked } = await checkConformance(kernel, tenant_id, {
    ...request,
    authority,
  })
  const against = claimReasons(request.claimed_conformance, conformance.per_policy)
  if (conformance.result === 'fail' || against.length > 0) throw rejected([...reasons, ...against])
  const { artifact_id } = conformance.evidence
  if (artifact_id !== null) foundArtifacts.set(proposed, artifact_id)
  return {
    version: VERSION,
    artifact: {
      ...{ artifact_ref, base_model_ref, kind, layer_hashes },
      manifest_digest: manifestDigest({ base_model_ref, kind, layer_hashes }),
    },
    data_provenance,
    authority,
    conformance,
    claimed_conformance: request.claimed_conformance,
    permitted_actions: request.permitted_actions,
    not_checked,
  }
}

/** The artifact that a certificate names as its evidence is certified in the same unit. */
async function effect(proposed: AdmittedProposal<NormalLandingRequest>): Promise<RecordEffect> {
  const artifact_id = foundArtifacts.get(proposed)
  return async (tx, record_id) => {
    // One that was certified before keeps its first certificate.
    if (artifact_id !== undefined) await certifyArtifact(tx, artifact_id, record_id)
  }
}

/** The signed document; refuses where a person decided otherwise meanwhile. */
export function documentOf({ document }: OpenRecord): LandingDocument {
  if (document === null) throw new Refusal('not_waiting')
  // Made by the registry of this slice and verified by its rules before it was kept.
  return document as unknown as LandingDocument
}

export function showLanding(record: OpenRecord, tenant_id: string): LandingCertificate {
  const { row, content } = record
  // Sealed by this slice, in its normal form.
  const request = record.request as NormalLandingRequest
  const document = record.document === null ? null : documentOf(record)
  return {
    certificate_id: row.record_id,
    ...showRow(record, tenant_id),
    artifact_ref: request.artifact_ref,
    base_model_ref: request.base_model_ref,
    kind: request.kind,
    layer_hashes: [...request.layer_hashes],
    data_provenance: { ...request.data_provenance },
    authority: document?.authority ?? authorityOf(request, content.ceiling),
    conformance: document?.conformance ?? null,
    claimed_conformance: { ...request.claimed_conformance },
    permitted_actions: [...request.permitted_actions],
  }
}

/** In a list: two hundred certificates of corpora with ten thousand sources are no page. */
export function showListed(record: OpenRecord, tenant_id: string): LandingCertificate {
  const shown = showLanding(record, tenant_id)
  if (record.row.sealed.length <= LISTED_CERTIFICATE_BYTES_MAX) return shown
  const { sources: _, ...data_provenance } = shown.data_provenance
  return { ...shown, document: null, data_provenance }
}
