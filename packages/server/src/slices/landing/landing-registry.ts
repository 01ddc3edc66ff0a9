// The registry of landing certificates: what of one is proposed, computed, signed.

import { type RecordedAuthority, TRUST_TIERS } from '@custos/contract'
import { claimReasons, type JsonObject, manifestDigest } from '@custos/proof'
import {
  certifyArtifact,
  type Effect,
  type Proposed,
  type Registry,
  recordedAuthority,
} from '../records/index.ts'
import { examine } from './examine.ts'
import { type Landing, rejected } from './normal-request.ts'

export const CERTIFICATE_ID = 'certificate_id'
const VERSION = 'lc/1'

/** The authority of a request as it holds: a ceiling that is not known allows nothing. */
export function authorityOf({ authority }: Landing, ceiling: string | null): RecordedAuthority {
  const known = TRUST_TIERS.find((tier) => tier === ceiling) ?? 'untrusted'
  return recordedAuthority(authority, ceiling === null ? null : known)
}

/** From `fields` to `effect`: what was registered in between is nothing a certificate speaks of. */
const foundArtifacts = new WeakMap<Proposed<Landing>, string>()

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
async function effect(proposed: Proposed<Landing>): Promise<Effect> {
  const artifact_id = foundArtifacts.get(proposed)
  return async (tx, record_id) => {
    // One that was certified before keeps its first certificate.
    if (artifact_id !== undefined) await certifyArtifact(tx, artifact_id, record_id)
  }
}
