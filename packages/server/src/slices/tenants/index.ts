// The face of the tenants slice: handlers, credentials for the edge, usage for other slices.

export { mintApiKey } from './api-key.ts'
export { deleteEndedCredentials } from './credential-limit.ts'
export {
  BOOTSTRAP,
  bootstrapKey,
  findByKey,
  findByKeyId,
  flushKeyUses,
  forgetCredentials,
  hasNoKey,
  issueKey,
  noteKeyUse,
  onCredentialChange,
  refuseMoved,
  requireNoExcess,
  requireStores,
  revokeKey,
  revokeKeysOfTenant,
} from './credentials.ts'
export { keyTextSources } from './key-texts.ts'
export { keysHandlers } from './keys.ts'
export { withMomentaryKey } from './momentary-key.ts'
export {
  createOperatorKey,
  ensureTenant,
  LOCAL_TENANT,
  loadTenant,
  revokeOperatorKey,
} from './provision.ts'
export {
  findExcess as findExcessRight,
  formatLimits,
  OPERATOR_RIGHTS,
  type Rights,
  rightsOf,
} from './rights.ts'
export { tenantsHandlers } from './tenants.ts'
export { changePlan } from './update-tenant.ts'
export { markPeriod } from './usage/periods.ts'
export { findMarks } from './usage/quotas.sql.ts'
export {
  compareMemoryCount,
  limitGovernedDecisions,
  planLimits,
  releaseMemories,
  requireRoomForStore,
  reserveMemories,
  takeRequest,
} from './usage/quotas.ts'
export {
  addUsages,
  type CorrectedCount,
  calendarMonth,
  correctUsage,
  countGovernedEver,
  findExcess,
  flushReadMeter,
  GovernedLog,
  loadUsage,
  meter,
  meterErasure,
  meterGoverned,
  readMeter,
} from './usage/usage.ts'
