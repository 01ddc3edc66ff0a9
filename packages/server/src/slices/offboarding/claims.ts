// What the certificate of an off-boarding says of what stays, and what it does not claim.

import type { DatabaseStats } from '../../platform/db/database.ts'

export const REMAINS: readonly string[] = [
  'The log: ids, numbers, times, digests and HMACs whose key is destroyed; store ids as callers ' +
    'chose them.',
  'Certificates of erasures with the reasons given in them, tombstones with ids and numbers.',
  'Revoked API keys without their names: hashes, ids, scopes and stores.',
  'Counts of use by month and operation; the name and plan the operator gave the tenant.',
  'This certificate, in the data, in the erasure ledger and its copy.',
]

const HEAPS =
  'Memory of running processes: a text handled shortly before may lie in a heap, swap area or ' +
  'core dump until it is reused; other processes drop keys and indexes within about a second.'
const KEYRING_COPIES =
  'Copies of the keyring made before still hold the keys until they are started with the erasure ' +
  'ledger or deleted, for whoever has the master key; without them, what is sealed in copies of ' +
  'the data cannot be read.'
const OUTSIDE =
  'Copies made outside the service: exports, answers already given, logs and prompts of callers.'
const ROWS =
  'The rows are unreadable from here on and removed by a job, which this certificate comes before.'
const LABELS =
  'Labels callers chose are not sealed: ids of stores and models, namespaces, and the names of ' +
  'API keys. They are in clear in the rows until that job has ended, and in copies of the data ' +
  'made before (backups, replicas, write-ahead logs) until these are deleted or overwritten.'
const SENT_OUT =
  'What embedding services outside keep of texts that were sent to them is not covered.'
const PG_LOG =
  'The keyring is on PostgreSQL: deleted keys stay in unused pages, the write-ahead log, ' +
  'replicas and backups of the keyring database until these are rewritten or recycled.'

export const limitsOf = (engine: DatabaseStats['engine']): string[] => [
  HEAPS,
  OUTSIDE,
  KEYRING_COPIES,
  ...(engine === 'postgres' ? [PG_LOG] : []),
  ROWS,
  LABELS,
  SENT_OUT,
]
