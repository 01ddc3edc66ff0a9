// The certificate of an off-boarding: built from what is observed, verified before anybody sees it;
// and what it says of data that remain.

import assert from 'node:assert/strict'
import type { Epoch, TenantCertificate } from '@custos/contract'
import {
  TENANT_ERASURE_KIND,
  type TenantErasureStatement,
  tenantErasureBytes,
  verifyTenantErasure,
} from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import { countLiveCredentials } from '../../platform/db/control.sql.ts'
import type { DatabaseStats } from '../../platform/db/database.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { KeyringError } from '../../platform/keys/keyring-error.ts'
import { erasureSigner } from '../erasure/index.ts'
import type { TenantPlan } from './plan.ts'

interface ClosedTenant {
  readonly tenant_id: string
  readonly plan: TenantPlan
  readonly requested_us: number
  /** The log position of the entry `tenant.destroyed`. */
  readonly log_seq: number
  readonly epoch: Epoch
}

/** Throws when something is left: only what was observed is certified. */
export async function certifyDestruction(
  kernel: Kernel,
  closed: ClosedTenant,
): Promise<TenantCertificate> {
  const { tenant_id, plan, log_seq, epoch } = closed
  const ran_us = kernel.clock.now()
  const paths = await verifyDestruction(kernel, tenant_id)
  const left = paths.find(({ result }) => result === 'present')
  if (left) throw new Error(`the tenant is destroyed, but ${left.path} is still present`)
  const { epoch_number, tree_size, root_hash, checkpoint } = epoch
  const completed_us = kernel.clock.now()
  return signCertificate(kernel, {
    record_kind: TENANT_ERASURE_KIND,
    certificate_id: plan.certificate_id,
    tenant_id,
    counts: { ...plan.counts, log_entries: log_seq + 1 },
    destroyed: Object.fromEntries(paths.map(({ path, result }) => [path, result])),
    verification: { ran_at: formatTime(ran_us), paths },
    last_checkpoint: { epoch_number, tree_size, root_hash, checkpoint },
    remains: REMAINS,
    limits: listLimits(kernel.db.stats().engine),
    legal_basis: plan.legal_basis,
    requested_by: plan.requested_by,
    erasure_requested_at: formatTime(closed.requested_us),
    erasure_completed_at: formatTime(completed_us),
    log_seq,
  })
}

async function verifyDestruction(
  kernel: Kernel,
  tenant_id: string,
): Promise<{ readonly path: string; readonly result: 'destroyed' | 'revoked' | 'present' }[]> {
  const gone = (there: boolean) => (there ? 'present' : 'destroyed')
  const keys = await hasKeys(kernel, tenant_id)
  const remains = await kernel.keyring.hasRemains(tenant_id)
  const live = await kernel.db.read(tenant_id, (db) => countLiveCredentials(db, tenant_id))
  return [
    { path: 'keyring.tenant_key', result: gone(keys) },
    { path: 'keyring.label_salt', result: gone(keys) },
    { path: 'keyring.secrets', result: gone(remains) },
    { path: 'credentials', result: live > 0 ? 'present' : 'revoked' },
  ]
}

async function hasKeys(kernel: Kernel, tenant_id: string): Promise<boolean> {
  try {
    await kernel.keyring.tenant(tenant_id)
    return true
  } catch (error) {
    if (error instanceof KeyringError && error.code === 'tenant_destroyed') return false
    throw error
  }
}

async function signCertificate(
  kernel: Kernel,
  statement: TenantErasureStatement,
): Promise<TenantCertificate> {
  const signer = erasureSigner(kernel)
  const certificate: TenantCertificate = {
    ...statement,
    counts: { ...statement.counts },
    destroyed: { ...statement.destroyed },
    verification: {
      ran_at: statement.verification.ran_at,
      paths: statement.verification.paths.map((path) => ({ ...path })),
    },
    last_checkpoint: { ...statement.last_checkpoint },
    remains: [...statement.remains],
    limits: [...statement.limits],
    signature: signer.sign(tenantErasureBytes(statement)).toString('base64'),
    public_key: signer.public_key.toString('base64'),
    key_id: signer.key_id,
  }
  const verdict = await verifyTenantErasure(certificate, kernel.keyring.publishedKeys())
  assert(verdict.valid, `a new certificate does not verify: ${verdict.reason}`)
  return certificate
}

const REMAINS: readonly string[] = [
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
  'Labels callers chose are not sealed: ids of stores and models, namespaces of memories, and ' +
  'names of API keys given before names were sealed. They are in clear in the rows until that ' +
  'job has ended, and in copies of the data made before (backups, replicas, write-ahead logs) ' +
  'until these are deleted or overwritten.'
const SENT_OUT =
  'What embedding services outside keep of texts that were sent to them is not covered.'
const PG_LOG =
  'The keyring is on PostgreSQL: deleted keys stay in unused pages, the write-ahead log, ' +
  'replicas and backups of the keyring database until these are rewritten or recycled.'

const listLimits = (engine: DatabaseStats['engine']): string[] => [
  HEAPS,
  OUTSIDE,
  KEYRING_COPIES,
  ...(engine === 'postgres' ? [PG_LOG] : []),
  ROWS,
  LABELS,
  SENT_OUT,
]
