// The migrations of the data database: numbered, run once and in order.

import { OperatorError } from '../../operator-error.ts'
import { foundation, governance, records, retrievedFacts, tenantLocks } from './0001-to-0005.ts'
import {
  assurance,
  credentialLimits,
  offboarding,
  reportRequests,
  reports,
  reputation,
  retention,
  subjects,
} from './0006-to-0013.ts'
import {
  billing,
  expiries,
  indexSecrets,
  items,
  keyNames,
  keyUses,
  plans,
  receipts,
  runs,
  selfTests,
  storeLanguages,
  streams,
  subjectTexts,
  tokenMakers,
  webhooks,
} from './0014-to-0028.ts'
import {
  agentVersions,
  compensation,
  compensationEnd,
  cosignatures,
  disclosures,
  epochTimestamps,
  extractedFacts,
  managedRuns,
  people,
  replaysAndUses,
  sessionDigests,
  sessions,
  sso,
  stepDecisions,
  tenantFences,
  tenantMoves,
  toolKinds,
  tools,
  workflows,
} from './0030-to-0080.ts'
import type { EngineName, Migration } from './ddl.ts'

export const migrations: readonly Migration[] = [
  foundation,
  tenantLocks,
  governance,
  retrievedFacts,
  records,
  reputation,
  reports,
  reportRequests,
  subjects,
  retention,
  offboarding,
  assurance,
  credentialLimits,
  subjectTexts,
  receipts,
  expiries,
  selfTests,
  keyNames,
  tokenMakers,
  storeLanguages,
  indexSecrets,
  streams,
  webhooks,
  plans,
  billing,
  items,
  keyUses,
  runs,
  sessions,
  people,
  sso,
  managedRuns,
  tools,
  cosignatures,
  sessionDigests,
  disclosures,
  workflows,
  agentVersions,
  stepDecisions,
  extractedFacts,
  toolKinds,
  compensation,
  tenantMoves,
  tenantFences,
  compensationEnd,
  epochTimestamps,
  replaysAndUses,
]

/** Raised when the database was written by a newer version. */
export class SchemaTooNew extends OperatorError {}

/** The migrations an engine runs. */
export const migrationsOf = (engine: EngineName): Migration[] =>
  migrations.filter((migration) => (migration.engine ?? engine) === engine)

/** Throws SchemaTooNew if a migration was applied that this version does not have. */
export function requireKnown(applied: readonly string[]): void {
  const unknown = applied.find((name) => !migrations.some((migration) => migration.name === name))
  if (unknown !== undefined)
    throw new SchemaTooNew(`the database has migration ${unknown}, newer than this version`)
}
