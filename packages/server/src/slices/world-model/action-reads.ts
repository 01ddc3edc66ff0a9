// Plain reads of actions: pages, numbers, and what a verifier finds in one.

import type { worldModel as contract } from '@custos/contract'
import type { Verdict } from '@custos/proof'
import type { Call, Handler } from '../../platform/call.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import {
  checksOf,
  countByStatus,
  findRecord,
  listRecords,
  type OpenRecord,
  verifyDocument,
} from '../records/index.ts'
import { actionRegistry, showAction, showListedAction } from './action-registry.ts'
import { listTitles } from './find-types.ts'
import { matchesTypeVersion } from './named-version.ts'

type Op<K extends keyof typeof contract> = (typeof contract)[K]

const PAGE = 50

export const listActions: Handler<Op<'list_actions'>> = async (call, { query }) => {
  const { kernel, tenant_id } = call
  const page = pageOf(query, PAGE)
  const show = (record: OpenRecord) => showListedAction(record, tenant_id)
  const shown = await listRecords(kernel, tenant_id, { kind: 'action', page }, show)
  return page.envelope('invocations', shown)
}

export const actionStats: Handler<Op<'action_stats'>> = async (call) => {
  const types: Record<string, number> = {}
  for (const { kind } of await listTitles(call.kernel, call.tenant_id))
    types[kind] = (types[kind] ?? 0) + 1
  return { types, actions: await call.read((db) => countByStatus(db, 'action')) }
}

async function loadAction({ kernel, tenant_id }: Call, record_id: string): Promise<OpenRecord> {
  const record = await findRecord(kernel, tenant_id, { kind: 'action', record_id })
  if (!record) throw new Refusal('action_not_found')
  return record
}

export const getAction: Handler<Op<'get_action'>> = async (call, { params }) =>
  showAction(await loadAction(call, params.action_id), call.tenant_id)

/** The signed document, and the version of the type that it names. */
async function judge(call: Call, record: OpenRecord): Promise<Verdict | null> {
  const { document } = record
  const verdict = await verifyDocument(call.kernel, actionRegistry, record)
  if (verdict === null || document === null) return null
  const ok = await matchesTypeVersion(call, document)
  const checks = [...verdict.checks, { name: 'type_version', ok }]
  if (ok || !verdict.valid) return { ...verdict, checks, valid: verdict.valid && ok }
  const reason = 'type_version: the version that it names is not there as it says'
  return { ...verdict, checks, valid: false, reason }
}

export const verifyAction: Handler<Op<'verify_action'>> = async (call, { params }) => {
  const record = await loadAction(call, params.action_id)
  const verdict = await judge(call, record)
  const { action_name, subject_refs, authority, gate, status } = showAction(record, call.tenant_id)
  const { human_principal, delegation_ref, trust_tier } = authority
  return {
    passed: verdict?.valid ?? false,
    checks: checksOf(verdict),
    not_checked: [...(verdict?.not_checked ?? [])],
    reason: verdict === null ? 'nothing was signed' : (verdict.reason ?? null),
    attribution: {
      who: human_principal,
      did: action_name,
      to: subject_refs,
      under: { delegation_ref, trust_tier },
      gate,
    },
    status,
  }
}
