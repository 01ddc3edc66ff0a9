// The face of the server package, used by the command line.

export {
  announceKeys,
  type KeyChange,
  retireSigningKey,
  rotateSigningKeys,
  SIGNING_PURPOSES,
  type SigningPurpose,
} from './app/admin-keys.ts'
export { type MasterRotation, rotateMasterKey } from './app/admin-master-key.ts'
export { rewriteSecrets } from './app/admin-rewrite.ts'
export { type Backup, type BackupFile, runBackup } from './app/backup.ts'
export type { Finding } from './app/fsck/finding.ts'
export { type FsckOptions, runFsck, type TenantReport } from './app/fsck/fsck.ts'
export { runMigrate } from './app/migrate.ts'
export {
  type MigrateEngineOptions,
  type Moved,
  runMigrateEngine,
} from './app/migrate-engine/migrate-engine.ts'
export { OfflineError } from './app/offline-error.ts'
export { type OpenKernel, openKernel } from './app/open-kernel.ts'
export { openReadOnly, type ReadOnlyKernel } from './app/open-read-only.ts'
export { openapiDocument } from './app/openapi-document.ts'
export { type RecomputeOptions, runRecompute, type TenantReputation } from './app/recompute.ts'
export type { RestoredTenant } from './app/restore/reconcile-restored.ts'
export { type Restored, type RestoreOptions, runRestore } from './app/restore/restore.ts'
export { LOCAL_TENANT, type Service, startService } from './app/start.ts'
export { VERSION } from './app/version.ts'
export { type Config, isLoopback, parseConfig } from './config/config.ts'
export {
  CLIENT_SETTINGS,
  type ClientEnvironment,
  CONFORMANCE_SETTINGS,
  ConfigError,
  type Environment,
  readClientEnvironment,
  readConformanceEnvironment,
  readEnvironment,
  SETTINGS,
  type SettingName,
  settingsHelp,
} from './config/env.ts'
export { DataDirHeld } from './platform/db/data-dir.ts'
export { DataError } from './platform/db/instance.ts'
export { SchemaTooNew } from './platform/db/migrate.ts'
export type { Kernel } from './platform/kernel.ts'
export { KeyringError } from './platform/keys/keyring-error.ts'
export { type OwnSigner, openOwnSigner } from './platform/keys/signing-key-file.ts'
export { OperatorError } from './platform/operator-error.ts'
