// The registry of landing certificates: what of one is proposed, computed, signed.

import { type RecordedAuthority, TRUST_TIERS } from '@custos/contract'
import {
  artifactContent,
  claimReasons,
  type JsonObject,
  type LandingRequest,
  manifestDigest,
} from '@custos/proof'
import {
  type ClaimedAuthority,
  certifyArtifact,
  contentKey,
  type Effect,
  findLiveRow,
  type Proposed,
  type Registry,
  recordedAuthority,
} from '../records/index.ts'
import { examine } from './examine.ts'
import { rejected } from './normal-request.ts'

export const CERTIFICATE_ID = 'certificate_id'
const VERSION = 'lc/1'

export type Landing = LandingRequest & { readonly authority: ClaimedAuthority }

/** The authority of a request as it holds: a ceiling that is not known allows nothing. */
export function authorityOf({ authority }: Landing, ceiling: string | null): RecordedAuthority {
  const known = TRUST_TIERS.find((tier) => tier === ceiling) ?? 'untrusted'
  return recordedAuthority(authority, ceiling === null ? null : known)
}

export const landingRegistry: Registry<Landing> = {
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
async function fields(proposed: Proposed<Landing>): Promise<JsonObject> {
  const { kernel, tenant_id, request, ceiling } = proposed
  const { artifact_ref, base_model_ref, kind, layer_hashes, data_provenance } = request
  const authority = authorityOf(request, ceiling)
  const { conformance, reasons, not_checked } = await examine(kernel, tenant_id, {
    ...request,
    authority,
  })
  const against = claimReasons(request.claimed_conformance, conformance.per_policy)
  if (conformance.result !== 'pass' || against.length > 0) throw rejected([...reasons, ...against])
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

/** A registered artifact of the same content is certified in the same unit. */
async function effect({ kernel, tenant_id, request }: Proposed<Landing>): Promise<Effect> {
  const wanted = { kind: 'artifact', content: artifactContent(request) } as const
  const key = await contentKey(kernel, tenant_id, wanted)
  return async (tx, record_id) => {
    const artifact = await findLiveRow(tx, 'artifact', key)
    // Of the first certificate; one that was certified before keeps that one.
    if (artifact?.status === 'registered') await certifyArtifact(tx, artifact.record_id, record_id)
  }
}
