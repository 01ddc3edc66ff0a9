// The registry of landing certificates: what is proposed, what is signed, and how it is shown.

import {
  type LandingCertificate,
  type LandingDocument,
  LISTED_CERTIFICATE_BYTES_MAX,
} from '@custos/contract'
import { claimReasons, manifestDigest } from '@custos/proof'
import { Refusal } from '../../platform/refusal.ts'
import {
  type AdmittedProposal,
  certifyArtifact,
  type OpenRecord,
  type Registry,
  type RegistryFields,
  recordedAuthority,
  rejection,
  showRow,
} from '../records/index.ts'
import { checkConformance } from './conformance.ts'
import type { NormalLandingRequest } from './normal-request.ts'

const VERSION = 'lc/1'

export const landingRegistry: Registry<NormalLandingRequest> = {
  kind: 'landing',
  id_field: 'certificate_id',
  schema_version: VERSION,
  standing: 'issued',
  waits: true,
  not_found: 'landing_not_found',
  operation: () => 'landing.issue',
  context: ({ artifact_ref, authority }) => ({ artifact_ref, authority }),
  name: ({ artifact_ref }) => artifact_ref,
  fields,
}

/** Refuses what does not conform now, and what its own claim contradicts. */
async function fields(proposal: AdmittedProposal<NormalLandingRequest>): Promise<RegistryFields> {
  const { kernel, tenant_id, request } = proposal
  const { artifact_ref, base_model_ref, kind, layer_hashes, data_provenance } = request
  const authority = recordedAuthority(request.authority, proposal.ceiling)
  const { conformance, reasons, not_checked } = await checkConformance(kernel, tenant_id, {
    ...request,
    authority,
  })
  const against = claimReasons(request.claimed_conformance, conformance.per_policy)
  if (conformance.result === 'fail' || against.length > 0) throw rejection([...reasons, ...against])
  const { artifact_id } = conformance.evidence
  return {
    document: {
      version: VERSION,
      artifact: {
        artifact_ref,
        base_model_ref,
        kind,
        layer_hashes,
        manifest_digest: manifestDigest({ base_model_ref, kind, layer_hashes }),
      },
      data_provenance,
      authority,
      conformance,
      claimed_conformance: request.claimed_conformance,
      permitted_actions: request.permitted_actions,
      not_checked,
    },
    // The artifact that is named as evidence is certified in the same unit of work; one that was
    // registered since is not named. A certified artifact keeps its first certificate.
    async effect(tx, record_id) {
      if (artifact_id !== null) await certifyArtifact(tx, artifact_id, record_id)
    },
  }
}

/** The signed document. Refuses where nothing was issued. */
export function documentOf({ document }: OpenRecord): LandingDocument {
  if (document === null) throw new Refusal('not_waiting')
  // Signed by this registry, and verified by its rules before it was stored.
  return document as unknown as LandingDocument
}

function showLanding(record: OpenRecord, tenant_id: string): LandingCertificate {
  const { row, content } = record
  // Proposed by this slice, in its normal form.
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
    authority: document?.authority ?? recordedAuthority(request.authority, content.ceiling),
    conformance: document?.conformance ?? null,
    claimed_conformance: { ...request.claimed_conformance },
    permitted_actions: [...request.permitted_actions],
  }
}

/** Two hundred certificates of corpora with ten thousand sources do not fit on a page. */
function showListed(record: OpenRecord, tenant_id: string): LandingCertificate {
  const shown = showLanding(record, tenant_id)
  if (record.row.sealed.length <= LISTED_CERTIFICATE_BYTES_MAX) return shown
  const { sources: _, ...data_provenance } = shown.data_provenance
  return { ...shown, document: null, data_provenance }
}

export const landingView = {
  id: 'certificate_id',
  listKey: 'certificates',
  show: showLanding,
  showListed,
} as const
