// The face of the server package, used by the command line.

export {
  type KeyChange,
  recountUsage,
  retireSigningKey,
  rewriteSecrets,
  rotateMasterKey,
  rotateSigningKeys,
  runMigrate,
  runMigrateEngine,
  SIGNING_PURPOSES,
  type SigningPurpose,
} from './app/admin.ts'
export { type BackupFile, runBackup } from './app/backup.ts'
export {
  runFsck,
  runRecompute,
  type TenantReport,
  type TenantReputation,
} from './app/checks/fsck.ts'
export type { MigrationResult } from './app/migrate-engine/move.ts'
export {
  abortTenantMove,
  type MoveProof,
  runTenantMove,
  type TenantMove,
} from './app/move-tenant/move-tenant.ts'
export { openKernel } from './app/open/open-kernel.ts'
export { openReadOnly } from './app/open/open-read-only.ts'
export { VERSION } from './app/open/version.ts'
export {
  type RehearsedTenant,
  type RestoreResult,
  rehearseRestore,
  runRestore,
} from './app/restore/restore.ts'
export { openapiDocument } from './app/routes.ts'
export { LOCAL_TENANT, type Service, startService } from './app/start.ts'
export {
  CLIENT_SETTINGS,
  CONFORMANCE_SETTINGS,
  MCP_SETTINGS,
  readClientEnvironment,
  readConformanceEnvironment,
  readMcpEnvironment,
  unknownSettings,
} from './config/client-env.ts'
export {
  assignTenant,
  clusterNameOf,
  clusterOf,
  loadCluster,
  readClusterEnvironment,
  readClusters,
} from './config/clusters.ts'
export { type Config, parseConfig } from './config/config.ts'
export { type Environment, readEnvironment, SETTINGS, settingsHelp } from './config/env.ts'
export { DataDirHeld, readAddress } from './platform/db/data-dir.ts'
export type { Kernel } from './platform/kernel/kernel.ts'
export { type OwnSigner, openOwnSigner } from './platform/keys/signer.ts'
export { OperatorError } from './platform/operator-error.ts'
export { describeStorageFault } from './platform/storage-fault.ts'
export { describeError } from './platform/telemetry/logger.ts'
export { findNearestName } from './platform/validation.ts'
