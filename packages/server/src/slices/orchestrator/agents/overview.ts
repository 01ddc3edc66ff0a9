// What an overview of agents and runs shows: roles, and numbers counted from rows.

import { AGENT_ROLES, type orchestrator as contract } from '@custos/contract'
import type { Handler } from '../../../platform/kernel/call.ts'
import { refuseLimited } from '../runs/agents.ts'
import {
  countAgentsByEnabled,
  countCallsByState,
  countStepsByState,
  sumRunsByState,
} from './agents.sql.ts'

export const listRoles: Handler<typeof contract.list_roles> = async () => ({
  roles: AGENT_ROLES.map((value) => ({
    value,
    label: `${value.slice(0, 1).toUpperCase()}${value.slice(1)}`,
  })),
})

/** PostgreSQL answers sums as texts. */
function sumOf<R>(rows: readonly R[], member: (row: R) => number | string | null): number {
  return rows.reduce((sum, row) => sum + Number(member(row) ?? 0), 0)
}

export const showStats: Handler<typeof contract.stats> = (call) => {
  refuseLimited(call)
  return call.read(async (db) => {
    const agents = await countAgentsByEnabled(db)
    const runs = await sumRunsByState(db)
    const steps = await countStepsByState(db)
    const calls = await countCallsByState(db)
    const denied = ({ state }: { readonly state: string }) => state === 'denied'
    return {
      agents_total: sumOf(agents, ({ count }) => count),
      agents_active: sumOf(agents, ({ enabled, count }) => enabled * Number(count)),
      runs_total: sumOf(runs, ({ count }) => count),
      runs_active: sumOf(runs, ({ live }) => live),
      runs: Object.fromEntries(runs.map(({ state, count }) => [state, Number(count)])),
      steps_total: sumOf(steps, ({ count }) => count),
      steps_denied: sumOf(steps.filter(denied), ({ count }) => count),
      steps_escalated: sumOf(steps, ({ escalated }) => escalated),
      calls_total: sumOf(calls, ({ count }) => count),
      calls_denied: sumOf(calls.filter(denied), ({ count }) => count),
      calls_escalated: sumOf(calls, ({ escalated }) => escalated),
      receipts_total: sumOf(runs, ({ receipts }) => receipts),
      tokens_total: sumOf(runs, ({ tokens }) => tokens),
      cost_micro_total: sumOf(runs, ({ cost_micro }) => cost_micro),
    }
  })
}
