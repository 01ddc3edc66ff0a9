// Joins the contract's groups with the slices' handlers. A missing handler does not compile.

import type { OperationSpec } from '@custos/contract'
import * as contract from '@custos/contract'
import type { Route } from '../http/endpoint.ts'
import { buildOpenapi } from '../http/openapi/openapi.ts'
import type { Handler, HandlersOf } from '../platform/kernel/call.ts'
import { approvalsHandlers } from '../slices/approvals/index.ts'
import { artifactsHandlers } from '../slices/artifacts/index.ts'
import { assuranceHandlers } from '../slices/assurance/index.ts'
import { billingHandlers } from '../slices/billing/index.ts'
import { complianceHandlers } from '../slices/compliance/index.ts'
import { compositionsHandlers } from '../slices/compositions/index.ts'
import { decisionsHandlers } from '../slices/decisions/index.ts'
import {
  decisionErasureHandlers,
  erasureHandlers,
  memoryErasureHandlers,
} from '../slices/erasure/index.ts'
import { gcrumbsHandlers } from '../slices/gcrumbs/index.ts'
import { governanceHandlers } from '../slices/governance/index.ts'
import { identityHandlers } from '../slices/identity/index.ts'
import { itemsHandlers } from '../slices/items/index.ts'
import { jobsHandlers } from '../slices/jobs/index.ts'
import { landingHandlers } from '../slices/landing/index.ts'
import { llmHandlers } from '../slices/llm/index.ts'
import { manifoldHandlers } from '../slices/manifold/index.ts'
import { memoryHandlers } from '../slices/memory/index.ts'
import { monitoringHandlers, platformHandlers } from '../slices/monitoring/index.ts'
import { offboardingHandlers } from '../slices/offboarding/index.ts'
import {
  memoryIngestionHandlers,
  orchestratorHandlers,
  workflowHandlers,
} from '../slices/orchestrator/index.ts'
import { provenanceHandlers } from '../slices/provenance/index.ts'
import { reportsHandlers } from '../slices/reports/index.ts'
import { reputationHandlers } from '../slices/reputation/index.ts'
import { retentionHandlers } from '../slices/retention/index.ts'
import { streamsHandlers } from '../slices/streams/index.ts'
import { subjectsHandlers } from '../slices/subjects/index.ts'
import { templatesHandlers } from '../slices/templates/index.ts'
import { keysHandlers, tenantsHandlers } from '../slices/tenants/index.ts'
import { webhooksHandlers } from '../slices/webhooks/index.ts'
import { worldModelHandlers } from '../slices/world-model/index.ts'
import { VERSION } from './open/version.ts'

function bind<C extends Readonly<Record<string, OperationSpec>>>(
  group: C,
  handlers: HandlersOf<C>,
): Route[] {
  return Object.entries(group).map(([verb, operation]) => ({
    operation,
    // HandlersOf has checked the types of each pair; here they are only passed on together.
    handler: handlers[verb as keyof C] as unknown as Handler<OperationSpec>,
  }))
}

/** Every operation of the service, in the order the API explorer lists them. */
export function allRoutes(): Route[] {
  return [
    ...bind(contract.platform, platformHandlers),
    ...bind(contract.memory, memoryHandlers),
    ...bind(contract.memoryIngestion, memoryIngestionHandlers),
    ...bind(contract.memoryErasure, memoryErasureHandlers),
    ...bind(contract.items, itemsHandlers),
    ...bind(contract.retention, retentionHandlers),
    ...bind(contract.decisions, decisionsHandlers),
    ...bind(contract.decisionErasure, decisionErasureHandlers),
    ...bind(contract.erasure, erasureHandlers),
    ...bind(contract.subjects, subjectsHandlers),
    ...bind(contract.gcrumbs, gcrumbsHandlers),
    ...bind(contract.streams, streamsHandlers),
    ...bind(contract.governance, governanceHandlers),
    ...bind(contract.provenance, provenanceHandlers),
    ...bind(contract.artifacts, artifactsHandlers),
    ...bind(contract.landing, landingHandlers),
    ...bind(contract.approvals, approvalsHandlers),
    ...bind(contract.compositions, compositionsHandlers),
    ...bind(contract.worldModel, worldModelHandlers),
    ...bind(contract.orchestrator, orchestratorHandlers),
    ...bind(contract.workflows, workflowHandlers),
    ...bind(contract.llm, llmHandlers),
    ...bind(contract.templates, templatesHandlers),
    ...bind(contract.reputation, reputationHandlers),
    ...bind(contract.manifold, manifoldHandlers),
    ...bind(contract.reports, reportsHandlers),
    ...bind(contract.assurance, assuranceHandlers),
    ...bind(contract.compliance, complianceHandlers),
    ...bind(contract.webhooks, webhooksHandlers),
    ...bind(contract.jobs, jobsHandlers),
    ...bind(contract.tenants, tenantsHandlers),
    ...bind(contract.billing, billingHandlers),
    ...bind(contract.offboarding, offboardingHandlers),
    ...bind(contract.keys, keysHandlers),
    ...bind(contract.identity, identityHandlers),
    ...bind(contract.monitoring, monitoringHandlers),
  ]
}

export const openapiDocument = (): Record<string, unknown> =>
  buildOpenapi(
    allRoutes().map(({ operation }) => operation),
    VERSION,
  )
