// The certificate of an artifact: whether it was issued, and is about this very artifact.

import { artifactContent, isObject } from '@custos/proof'
import type { Kernel } from '../../platform/kernel.ts'
import { findRecord, type OpenRecord } from '../records/index.ts'
import { hashesOf } from './registry.ts'
import { requestOf } from './show-artifact.ts'

export const findCertificate = (
  kernel: Kernel,
  tenant_id: string,
  record_id: string,
): Promise<OpenRecord | null> => findRecord(kernel, tenant_id, { kind: 'landing', record_id })

/** Why it does not certify the artifact; null: it does. */
export function faultOf(certificate: OpenRecord, artifact: OpenRecord): string | null {
  const { row, document } = certificate
  if (row.status !== 'issued' || document === null) return 'the certificate was not issued'
  const same = contentOfCertificate(certificate) === contentOf(artifact)
  return same ? null : 'the certificate is about another artifact'
}

function contentOf(artifact: OpenRecord): string {
  const request = requestOf(artifact)
  return artifactContent({ ...request, layer_hashes: hashesOf(request.layers) })
}

/** Null: it does not say which artifact it is about. */
function contentOfCertificate({ document }: OpenRecord): string | null {
  const artifact = document?.['artifact']
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
