// The face of the tenants slice: handlers, credentials for the edge, usage for other slices.

export { hashApiKey, mintApiKey } from './api-key.ts'
export { keysHandlers } from './create-key.ts'
export { deleteEndedCredentials } from './credential-limit.ts'
export { findByKey, issueKey, revokeKeysOfTenant } from './credentials.ts'
export { keyTextSources } from './key-texts.ts'
export { withMomentaryKey } from './momentary-key.ts'
export {
  createOperatorKey,
  ensureTenant,
  LOCAL_TENANT,
  revokeOperatorKey,
} from './provision.ts'
export { formatLimits, OPERATOR_RIGHTS } from './rights.ts'
export { tenantsHandlers } from './tenants.ts'
export {
  addUsages,
  calendarMonth,
  flushReadMeter,
  loadUsage,
  meter,
  meterErasure,
  readMeter,
} from './usage.ts'
