// The list of all screens: one row each. A screen that has no `load` is not built and not linked.

import type { FunctionComponent } from 'react'
import type { Scope, Session } from '../api/session.tsx'

/** The groups of the navigation, in their order. */
export const GROUPS = ['Remember', 'Govern', 'Erase', 'Prove', 'Operate'] as const

export interface ScreenEntry {
  /** Path below /console in the form of TanStack Router, such as `/stores/$storeId`. */
  readonly path: string
  readonly title: string
  /** The group in the navigation; absent for a page that another screen leads to. */
  readonly group?: (typeof GROUPS)[number]
  /** The scope that a caller needs to see the screen in the navigation. */
  readonly scope?: Scope
  /** Hidden from keys that are limited to some stores. */
  readonly whole?: true
  readonly load?: () => Promise<FunctionComponent>
}

const overview = () => import('../screens/overview/overview.tsx').then((m) => m.Overview)
const stores = () => import('../screens/stores/stores.tsx').then((m) => m.Stores)
const memory = () => import('../screens/memory/memory-screen.tsx').then((m) => m.MemoryScreen)
const oneMemory = () => import('../screens/memory/one-memory.tsx').then((m) => m.OneMemory)
const timeline = () => import('../screens/timeline/timeline.tsx').then((m) => m.Timeline)
const decisions = () => import('../screens/decisions/decisions.tsx').then((m) => m.Decisions)
const oneDecision = () => import('../screens/decisions/one-decision.tsx').then((m) => m.OneDecision)
const erasure = () => import('../screens/erasure/erasure.tsx').then((m) => m.Erasure)
const certificate = () =>
  import('../screens/erasure/certificate-view.tsx').then((m) => m.OneCertificate)
const subjects = () => import('../screens/subjects/subjects.tsx').then((m) => m.Subjects)
const subjectRequest = () =>
  import('../screens/subjects/one-request.tsx').then((m) => m.OneSubjectRequest)
const approvals = () => import('../screens/approvals/approvals.tsx').then((m) => m.Approvals)
const approval = () => import('../screens/approvals/one-approval.tsx').then((m) => m.OneApproval)
const retention = () => import('../screens/retention/retention.tsx').then((m) => m.Retention)
const auditLog = () => import('../screens/log/log.tsx').then((m) => m.AuditLog)
const oneEntry = () => import('../screens/log/one-entry.tsx').then((m) => m.OneEntry)
const policies = () => import('../screens/policies/policies.tsx').then((m) => m.Policies)
const onePolicy = () => import('../screens/policies/one-policy.tsx').then((m) => m.OnePolicy)
const registries = () => import('../screens/registries/registries.tsx').then((m) => m.Registries)
const oneRecord = () => import('../screens/registries/registries.tsx').then((m) => m.OneRecord)
const webhooks = () => import('../screens/webhooks/webhooks.tsx').then((m) => m.Webhooks)
const oneWebhook = () => import('../screens/webhooks/one-webhook.tsx').then((m) => m.OneWebhook)
const agents = () => import('../screens/agents/agents.tsx').then((m) => m.Agents)
const oneAgent = () => import('../screens/agents/one-agent.tsx').then((m) => m.OneAgent)
const runs = () => import('../screens/runs/runs.tsx').then((m) => m.Runs)
const oneRun = () => import('../screens/runs/one-run.tsx').then((m) => m.OneRun)
const tenants = () => import('../screens/tenants/tenants.tsx').then((m) => m.Tenants)
const oneTenant = () => import('../screens/tenants/one-tenant.tsx').then((m) => m.OneTenant)
const evidence = () => import('../screens/evidence/evidence.tsx').then((m) => m.Evidence)
const oneReport = () => import('../screens/evidence/one-report.tsx').then((m) => m.OneReport)
const reputation = () => import('../screens/reputation/reputation.tsx').then((m) => m.Reputation)
const manifold = () => import('../screens/manifold/manifold.tsx').then((m) => m.Manifold)
const billing = () => import('../screens/billing/billing.tsx').then((m) => m.Billing)
const live = () => import('../screens/live/live-screen.tsx').then((m) => m.LiveScreen)
const access = () => import('../screens/access/access.tsx').then((m) => m.Access)
const signOn = () => import('../screens/sign-on/sign-on.tsx').then((m) => m.SignOn)
const usage = () => import('../screens/usage/usage.tsx').then((m) => m.Usage)
const health = () => import('../screens/health/health.tsx').then((m) => m.Health)

export const SCREENS: readonly ScreenEntry[] = [
  { path: '/', title: 'Overview', group: 'Remember', load: overview },
  { path: '/stores', title: 'Stores', group: 'Remember', scope: 'memory:read', load: stores },
  {
    path: '/stores/$storeId',
    title: 'Memory',
    group: 'Remember',
    scope: 'memory:read',
    load: memory,
  },
  {
    path: '/stores/$storeId/timeline',
    title: 'Timeline',
    group: 'Remember',
    scope: 'memory:read',
    load: timeline,
  },
  { path: '/stores/$storeId/memories/$ref', title: 'Memory', load: oneMemory },
  {
    path: '/decisions',
    title: 'Decisions',
    group: 'Remember',
    scope: 'decisions:read',
    load: decisions,
  },
  { path: '/decisions/$decisionId', title: 'Decision', load: oneDecision },
  {
    path: '/approvals',
    title: 'Approvals',
    group: 'Govern',
    scope: 'compliance:read',
    load: approvals,
  },
  { path: '/approvals/$requestId', title: 'Approval request', load: approval },
  {
    path: '/policies',
    title: 'Policies',
    group: 'Govern',
    scope: 'governance:read',
    load: policies,
  },
  { path: '/policies/$policyId', title: 'Policy', load: onePolicy },
  {
    path: '/registries/$registry',
    title: 'Registries',
    group: 'Govern',
    scope: 'artifacts:read',
    load: registries,
  },
  { path: '/registries/$registry/$recordId', title: 'Record', load: oneRecord },
  {
    path: '/reputation',
    title: 'Reputation',
    group: 'Govern',
    scope: 'cgr:read',
    load: reputation,
  },
  {
    path: '/agents',
    title: 'Agents',
    group: 'Govern',
    scope: 'orchestrator:run',
    whole: true,
    load: agents,
  },
  { path: '/agents/$agentId', title: 'Agent', load: oneAgent },
  {
    path: '/runs',
    title: 'Runs',
    group: 'Govern',
    scope: 'orchestrator:run',
    whole: true,
    load: runs,
  },
  { path: '/runs/$runId', title: 'Run', load: oneRun },
  { path: '/erasure', title: 'Erasure', group: 'Erase', scope: 'erasure:execute', load: erasure },
  { path: '/erasure/$certificateId', title: 'Certificate', load: certificate },
  {
    path: '/subjects',
    title: 'Subject requests',
    group: 'Erase',
    scope: 'erasure:execute',
    load: subjects,
  },
  { path: '/subjects/$requestId', title: 'Subject request', load: subjectRequest },
  {
    path: '/retention',
    title: 'Retention & holds',
    group: 'Erase',
    scope: 'memory:read',
    load: retention,
  },
  { path: '/log', title: 'Audit log', group: 'Prove', scope: 'gcrumbs:read', load: auditLog },
  { path: '/log/$seq', title: 'Log entry', load: oneEntry },
  { path: '/live', title: 'Live', group: 'Prove', scope: 'gcrumbs:read', load: live },
  {
    path: '/evidence',
    title: 'Evidence',
    group: 'Prove',
    scope: 'compliance:read',
    whole: true,
    load: evidence,
  },
  { path: '/evidence/$reportId', title: 'Report', load: oneReport },
  { path: '/manifold', title: 'Manifold', group: 'Prove', scope: 'manifold:read', load: manifold },
  { path: '/access', title: 'Keys & access', group: 'Operate', scope: 'keys:admin', load: access },
  {
    path: '/sign-on',
    title: 'Single sign-on',
    group: 'Operate',
    scope: 'sso:admin',
    whole: true,
    load: signOn,
  },
  { path: '/usage', title: 'Usage', group: 'Operate', load: usage },
  { path: '/health', title: 'Health', group: 'Operate', load: health },
  {
    path: '/webhooks',
    title: 'Webhooks',
    group: 'Operate',
    scope: 'webhooks:admin',
    whole: true,
    load: webhooks,
  },
  { path: '/webhooks/$webhookId', title: 'Endpoint', load: oneWebhook },
  { path: '/billing', title: 'Billing', group: 'Operate', scope: 'keys:admin', load: billing },
  {
    path: '/tenants',
    title: 'Tenants',
    group: 'Operate',
    scope: 'admin:platform',
    load: tenants,
  },
  { path: '/tenants/$tenantId', title: 'Tenant', load: oneTenant },
]

/** Whether the navigation and the palette show a screen to a caller. */
export const isVisible = (
  { load, scope, whole }: ScreenEntry,
  { can, caller }: Pick<Session, 'can' | 'caller'>,
): boolean =>
  load !== undefined && (!scope || can(scope)) && (!whole || (caller.stores?.length ?? 0) === 0)
