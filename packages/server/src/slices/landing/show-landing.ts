// A landing certificate as it is shown: its document, or its row with what was asked for.

import {
  type LandingCertificate,
  type LandingDocument,
  LISTED_CERTIFICATE_BYTES_MAX,
} from '@custos/contract'
import { Refusal } from '../../platform/refusal.ts'
import { type OpenRecord, showRow } from '../records/index.ts'
import { authorityOf } from './landing-registry.ts'
import type { Landing } from './normal-request.ts'

/** The signed document; refuses where a person decided otherwise meanwhile. */
export function documentOf({ document }: OpenRecord): LandingDocument {
  if (document === null) throw new Refusal('not_waiting')
  // Made by the registry of this slice and verified by its rules before it was kept.
  return document as unknown as LandingDocument
}

export function showLanding(record: OpenRecord, tenant_id: string): LandingCertificate {
  const { row, content } = record
  // Sealed by this slice, in its normal form.
  const request = record.request as Landing
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
