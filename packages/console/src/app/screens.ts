// The list of all screens: one row each. A screen that has no `load` is not built and not linked.

import type { ComponentType } from 'react'
import type { Scope } from '../api/session.tsx'

/** The groups of the navigation, in their order. */
export const GROUPS = ['Remember', 'Govern', 'Erase', 'Prove', 'Operate'] as const

export interface ScreenEntry {
  /** Path below /console, as TanStack Router writes it: `/stores/$storeId`. */
  readonly path: string
  readonly title: string
  /** Where the navigation shows it; absent for a page that another screen leads to. */
  readonly group?: (typeof GROUPS)[number]
  /** A caller without this scope does not see it in the navigation. */
  readonly scope?: Scope
  readonly load?: () => Promise<ComponentType>
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
  { path: '/registries/$registry', title: 'Registries', group: 'Govern', scope: 'artifacts:read' },
  { path: '/registries/$registry/$recordId', title: 'Record' },
  { path: '/reputation', title: 'Reputation', group: 'Govern', scope: 'cgr:read' },
  { path: '/runs', title: 'Runs', group: 'Govern', scope: 'governance:read' },
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
  { path: '/evidence', title: 'Reports', group: 'Prove', scope: 'compliance:read' },
  { path: '/evidence/$reportId', title: 'Report' },
  { path: '/manifold', title: 'Manifold', group: 'Prove', scope: 'manifold:read' },
  { path: '/access', title: 'Keys & access', group: 'Operate', scope: 'keys:admin', load: access },
  {
    path: '/sign-on',
    title: 'Single sign-on',
    group: 'Operate',
    scope: 'sso:admin',
    load: signOn,
  },
  { path: '/usage', title: 'Usage', group: 'Operate', load: usage },
  { path: '/health', title: 'Health', group: 'Operate', load: health },
  { path: '/webhooks', title: 'Webhooks', group: 'Operate', scope: 'webhooks:admin' },
  { path: '/billing', title: 'Billing', group: 'Operate', scope: 'keys:admin' },
  { path: '/tenants', title: 'Tenants', group: 'Operate', scope: 'admin:platform' },
]

/** Whether there is a screen to link to. */
export const isBuilt = (path: string): boolean =>
  SCREENS.some((screen) => screen.path === path && screen.load !== undefined)
