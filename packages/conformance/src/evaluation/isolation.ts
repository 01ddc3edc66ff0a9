// The oracle for concurrent transactions: which anomalies a group can show, and which it showed.

import type { Trace, Turn } from '../workloads/trace.ts'

const ANOMALIES = ['lost_update', 'resurrection', 'non_repeatable_read', 'write_skew'] as const

/**
 * The anomaly that the operations of a group make possible: a delete and a write of the same key,
 * two writes of one key, two reads around a write, or two writes each after a read of the other's
 * key. Null when none is possible.
 */
export function anomalyOf(trace: Trace, turns: readonly Turn[]): (typeof ANOMALIES)[number] | null {
  const facts = new Map(trace.facts.map((fact) => [fact.fact_id, fact]))
  const keysOf = (ids: readonly string[]) =>
    ids.flatMap((id) => {
      const fact = facts.get(id)
      return fact ? [`${fact.subject}\n${fact.predicate}`] : []
    })
  const writes = turns.flatMap(({ introduces }) => keysOf(introduces))
  const deletes = turns.flatMap((turn) => keysOf(turn.deletes))
  const reads = turns.flatMap(({ asks, txn_id }) =>
    asks ? [{ key: `${asks.subject}\n${asks.predicate}`, txn_id }] : [],
  )
  if (deletes.some((key) => writes.includes(key))) return 'resurrection'
  if (new Set(writes).size < writes.length) return 'lost_update'
  const twice = reads.some(
    (read, i) => reads.findIndex((r) => r.key === read.key && r.txn_id === read.txn_id) < i,
  )
  if (twice) return 'non_repeatable_read'
  return writes.length > 1 && reads.length > 1 ? 'write_skew' : null
}

/** The result of one transaction of a group. */
export type TransactionResult = {
  readonly txn_id: string
  readonly kind: 'write' | 'delete'
  /** Whether the server acknowledged the transaction. */
  readonly committed: boolean
  /** Whether the memory that it wrote or deleted is in the audit afterwards. */
  readonly survives: boolean
  /** Whether an answer to a question about the memory contains it. */
  readonly is_read: boolean
  /** Whether a later write superseded the memory. */
  readonly replaced: boolean
}

export type TransactionGroup = {
  readonly name: string
  readonly transactions: readonly TransactionResult[]
  /** Whether an answer contains the value from before the group. */
  readonly base_is_read: boolean
}

/**
 * The anomalies a group showed, and the strongest isolation level they allow. All but a lost update
 * are forbidden at every level. A delete and a write of one key leave the new version in either
 * order, and never the deleted one, even if that was replaced before.
 */
export function evaluateGroup({ transactions, base_is_read }: TransactionGroup) {
  const anomalies = new Set<'lost_update' | 'resurrection' | 'refused_write' | 'unread_write'>()
  for (const { kind, committed, survives, is_read, replaced } of transactions) {
    if (kind === 'delete') {
      if (committed && (survives || base_is_read)) anomalies.add('resurrection')
    } else if (!committed) {
      if (survives || is_read) anomalies.add('refused_write')
    } else if (!survives) anomalies.add('lost_update')
    else if (!replaced && !is_read) anomalies.add('unread_write')
  }
  // Both writes were acknowledged as the successor of the same version.
  const open = transactions.filter((t) => t.kind === 'write' && t.committed && !t.replaced)
  if (open.length > 1) anomalies.add('lost_update')
  const level = anomalies.has('lost_update') ? 'read_committed' : 'serializable'
  return { anomalies: [...anomalies], level } as const
}
