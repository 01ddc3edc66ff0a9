// The face of the tenants slice: handlers, credentials for the edge, usage for other slices.

export { hashApiKey, isApiKey, mintApiKey } from './api-key.ts'
export { findByKey, type IssuedKey, issueKey, revokeKeysOfTenant } from './credentials.ts'
export { keysHandlers } from './keys.ts'
export { type Credential, withMomentaryKey } from './momentary-key.ts'
export { createOperatorKey, revokeOperatorKey } from './operator-keys.ts'
export { ensureTenant, LOCAL_TENANT, showTenant } from './provision.ts'
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
