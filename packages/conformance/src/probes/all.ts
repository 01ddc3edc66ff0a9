// The probes of all ten capabilities, in the order of the report.

import { GMP_CAPABILITIES } from '../result.ts'
import { concurrencyProbe } from './concurrency.ts'
import { crossSessionProbe, hardDeleteProbe } from './erasure.ts'
import { auditProbe, biTemporalProbe, conflictProbe, supersessionProbe } from './history.ts'
import { provenanceProbe, signatureProbe } from './origin.ts'
import type { Probe } from './probe.ts'
import { multiTenantProbe } from './tenancy.ts'

const PROBES: readonly Probe[] = [
  auditProbe,
  supersessionProbe,
  biTemporalProbe,
  hardDeleteProbe,
  multiTenantProbe,
  provenanceProbe,
  signatureProbe,
  crossSessionProbe,
  conflictProbe,
  concurrencyProbe,
]

export const probes: readonly Probe[] = GMP_CAPABILITIES.map((capability) => {
  const probe = PROBES.find((known) => known.capability === capability)
  if (!probe) throw new Error(`no probe of ${capability}`)
  return probe
})
