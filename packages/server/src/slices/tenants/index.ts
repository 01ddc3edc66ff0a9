// The face of the tenants slice: handlers, credentials for the edge, usage for other slices.

export { hashApiKey, isApiKey, mintApiKey } from './api-key.ts'
export { keysHandlers } from './create-key.ts'
export { findByKey, type IssuedKey, issueKey, revokeKeysOfTenant } from './credentials.ts'
export { type Credential, withMomentaryKey } from './momentary-key.ts'
export {
  createOperatorKey,
  ensureTenant,
  LOCAL_TENANT,
  revokeOperatorKey,
  showTenant,
} from './provision.ts'
export { tenantsHandlers } from './tenants.ts'
export {
  addUsages,
  calendarMonth,
  flushReadMeter,
  loadUsage,
  meter,
  type ReadMeter,
  readMeter,
} from './usage.ts'
