// The tables of the data database. Times are microseconds, flags 0/1, documents JSON text.
//
// Each column says what it holds and, for text or bytes, why it keeps no erased content; a test
// compares this with the schema that the migrations create. Content also exists in the following
// places, each of which an erasure has to reach:
// - data files and WAL: pages of these tables; secure_delete overwrites them
// - secrets.slots: random secrets, overwritten in place when destroyed
// - the ledger's copy, backups: the ledger's rows, and what is unreadable once they are replayed
// - log lines: ids, codes and durations
// - the index of a store, opened facts: `forget()` drops the ref at once; other processes follow by
//   log position, and show a fact only beside a live row of the same snapshot
// - snapshots of an index: sealed under a secret that the first erasure from the store destroys
// - texts that are embedded again: `forget()` stops the batch the ref is in, sent or not
// - buffers of opened facts: wiped, or left to the collector after each answer
// - secret blocks: `destroySecrets` wipes them
// - units of work before their commit: one that would store an erasing ref is refused
// - returned refs and evaluations before they are recorded, usage, compiled policies, counts of
//   near-duplicates, layouts of the manifold, tokenizers: no content
// - endpoints of webhooks: outside; they get log entries, in which no content is
// - the embedding service of the embedder `http`: outside; certificates say so

import type { RowsOf } from './columns.ts'
import { controlTables } from './control-tables.ts'
import { decisionTables, runTables } from './decision-tables.ts'
import { governanceTables, reportTables } from './governance-tables.ts'
import { logTables, webhookTables } from './log-tables.ts'
import { memoryTables } from './memory-tables.ts'
import { reputationTables } from './reputation-tables.ts'

export const dataTables = {
  ...controlTables,
  ...logTables,
  ...memoryTables,
  ...decisionTables,
  ...governanceTables,
  ...reputationTables,
  ...reportTables,
  ...webhookTables,
  ...runTables,
}

/** The rows of each table. */
export type Tables = RowsOf<typeof dataTables>
/** A row without its tenant id, which the database handle adds. */
export type Row<T extends keyof Tables> = Omit<Tables[T], 'tenant_id'>
export type TenantTable = Exclude<keyof Tables, keyof typeof controlTables>
