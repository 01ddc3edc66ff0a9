// The migrations of the data database: numbered, run once and in order.

import { OperatorError } from '../../operator-error.ts'
import { foundation } from './0001-foundation.ts'
import { tenantLocks } from './0002-tenant-locks.ts'
import { governance } from './0003-governance.ts'
import { retrievedFacts } from './0004-retrieved-facts.ts'
import { records } from './0005-records.ts'
import { reputation } from './0006-reputation.ts'
import { reports } from './0007-reports.ts'
import { reportRequests } from './0008-report-requests.ts'
import { subjects } from './0009-subjects.ts'
import { retention } from './0010-retention.ts'
import { offboarding } from './0011-offboarding.ts'
import { assurance } from './0012-assurance.ts'
import { credentialLimits } from './0013-credential-limits.ts'
import { subjectTexts } from './0014-subject-texts.ts'
import { receipts } from './0015-receipts.ts'
import { expiries } from './0016-expiries.ts'
import { selfTests } from './0017-self-tests.ts'
import { keyNames } from './0018-key-names.ts'
import { tokenMakers } from './0019-token-makers.ts'
import { storeLanguages } from './0020-store-languages.ts'
import { indexSecrets } from './0021-index-secrets.ts'
import { streams } from './0022-streams.ts'
import { webhooks } from './0023-webhooks.ts'
import { plans } from './0024-plans.ts'
import { billing } from './0025-billing.ts'
import { items } from './0026-items.ts'
import { keyUses } from './0027-key-uses.ts'
import { runs } from './0028-runs.ts'
import { sessions } from './0030-sessions.ts'
import { people } from './0031-people.ts'
import { sso } from './0032-sso.ts'
import { managedRuns } from './0034-managed-runs.ts'
import { tools } from './0035-tools.ts'
import { cosignatures } from './0036-cosignatures.ts'
import { sessionDigests } from './0037-session-digests.ts'
import { disclosures } from './0042-disclosures.ts'
import { workflows } from './0043-workflows.ts'
import { agentVersions } from './0050-agent-versions.ts'
import { stepDecisions } from './0051-step-decisions.ts'
import { extractedFacts } from './0055-extracted-facts.ts'
import { toolKinds } from './0060-tool-kinds.ts'
import { compensation } from './0061-compensation.ts'
import { tenantMoves } from './0065-tenant-moves.ts'
import { tenantFences } from './0066-tenant-fences.ts'
import { epochTimestamps } from './0075-epoch-timestamps.ts'
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
  epochTimestamps,
]

/** Raised when the database was written by a newer version. */
export class SchemaTooNew extends OperatorError {}

/** The migrations an engine runs. */
export const migrationsOf = (engine: EngineName): Migration[] =>
  migrations.filter((migration) => (migration.engine ?? engine) === engine)

/** Throws SchemaTooNew when a migration was run that this version does not have. */
export function requireKnown(applied: readonly string[]): void {
  const unknown = applied.find((name) => !migrations.some((migration) => migration.name === name))
  if (unknown !== undefined)
    throw new SchemaTooNew(`the database has migration ${unknown}, newer than this version`)
}
