// The operations that every registry has: stats, list, get, approve and reject.

import { limits } from '@custos/contract'
import type { JsonObject } from '@custos/proof'
import type { Call } from '../../platform/kernel/call.ts'
import { type PageQuery, pageOf } from '../../platform/page.ts'
import { answerWaiting, idMember } from './answers.ts'
import { type ApprovalDecision, applyDecision } from './apply-decision.ts'
import { findRecord, listRecords } from './find-records.ts'
import type { OpenRecord } from './open-record.ts'
import { countByStatus } from './records.sql.ts'
import type { Registry, RegistryIdentity } from './registry.ts'

/** How a registry shows its records. */
interface RegistryView<Id extends string, Key extends string, Shown, Listed> {
  /** The name of a record's id in paths and replies. */
  readonly id: Id
  /** The member of a list reply that holds the records. */
  readonly listKey: Key
  show(record: OpenRecord, tenant_id: string): Shown
  /** The form in a list, without members that would make a page too large. */
  showListed(record: OpenRecord, tenant_id: string): Listed
}

interface DecisionInput<Id extends string> {
  readonly params: Readonly<Record<Id, string>>
  readonly body: { readonly approver: string; readonly reason?: string | undefined }
}

/** Loads a record. Refuses if the registry does not have it. */
export const loadRecord = async (
  call: Call,
  { kind, not_found }: RegistryIdentity,
  record_id: string,
): Promise<OpenRecord> =>
  (await findRecord(call.kernel, call.tenant_id, { kind, record_id })) ?? call.refuse(not_found)

/** The reading operations of a registry, which suffice if its records never wait. */
export function registryReads<Id extends string, Key extends string, Shown, Listed>(
  registry: RegistryIdentity,
  { id, listKey, show, showListed }: RegistryView<Id, Key, Shown, Listed>,
) {
  const { kind } = registry
  return {
    stats: (call: Call) => call.read((db) => countByStatus(db, kind)),

    async list(call: Call, { query }: { readonly query: PageQuery }) {
      const { kernel, tenant_id } = call
      const page = pageOf(query, limits.records_page.default, call.operation.id)
      const { shown, end } = await listRecords(kernel, tenant_id, { kind, page }, (record) =>
        showListed(record, tenant_id),
      )
      return page.envelope(listKey, shown, end)
    },

    get: async (call: Call, { params }: Pick<DecisionInput<Id>, 'params'>): Promise<Shown> =>
      show(await loadRecord(call, registry, params[id]), call.tenant_id),
  }
}

export function registryHandlers<Q extends JsonObject, Id extends string, K extends string, S, L>(
  registry: Registry<Q>,
  view: RegistryView<Id, K, S, L>,
) {
  const { id, show } = view
  const decide = (
    call: Call,
    { params, body }: DecisionInput<Id>,
    decision: ApprovalDecision['decision'],
  ): Promise<OpenRecord> => {
    // Members are named one by one, so that no other member of the body enters the decision.
    const { approver, reason } = body
    return applyDecision(call, registry, params[id], { decision, approver, reason })
  }
  return {
    ...registryReads(registry, view),

    approve: async (call: Call, input: DecisionInput<Id>): Promise<S> =>
      show(await decide(call, input, 'approve'), call.tenant_id),

    async reject(call: Call, input: DecisionInput<Id>) {
      const { row } = await decide(call, input, 'deny')
      const { approver } = input.body
      return { ...idMember(id, row.record_id), status: 'denied' as const, approver }
    },
  }
}

/** The reply to a proposal: the record as shown, or 202 while it waits. */
export const answerProposal = async <Id extends string, K extends string, S, L>(
  { kernel, tenant_id }: Call,
  record: OpenRecord,
  { id, show }: RegistryView<Id, K, S, L>,
) =>
  record.row.status === 'waiting_hitl'
    ? answerWaiting(kernel, tenant_id, record, id)
    : show(record, tenant_id)
