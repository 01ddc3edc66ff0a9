// The certificate of an off-boarding: made from what is observed, verified before it leaves.

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
import type { Kernel } from '../../platform/kernel.ts'
import { KeyringError } from '../../platform/keys/keyring-error.ts'
import { erasureSigner } from '../erasure/index.ts'
import { limitsOf, REMAINS } from './claims.ts'
import type { TenantPlan } from './plan.ts'

export interface Closed {
  readonly tenant_id: string
  readonly plan: TenantPlan
  readonly requested_us: number
  /** Of the entry `tenant.destroyed`. */
  readonly log_seq: number
  readonly epoch: Epoch
}

/** Throws when something is there still: nothing is certified that was not observed. */
export async function certify(kernel: Kernel, closed: Closed): Promise<TenantCertificate> {
  const { tenant_id, plan, log_seq, epoch } = closed
  const ran_us = kernel.clock.now()
  const paths = await observe(kernel, tenant_id)
  const left = paths.find(({ result }) => result === 'present')
  if (left) throw new Error(`the tenant is destroyed and ${left.path} is there still`)
  const { epoch_number, tree_size, root_hash, checkpoint } = epoch
  const completed_us = kernel.clock.now()
  return sign(kernel, {
    record_kind: TENANT_ERASURE_KIND,
    certificate_id: plan.certificate_id,
    tenant_id,
    counts: { ...plan.counts, log_entries: log_seq + 1 },
    destroyed: Object.fromEntries(paths.map(({ path, result }) => [path, result])),
    verification: { ran_at: formatTime(ran_us), paths },
    last_checkpoint: { epoch_number, tree_size, root_hash, checkpoint },
    remains: REMAINS,
    limits: limitsOf(kernel.db.stats().engine),
    legal_basis: plan.legal_basis,
    requested_by: plan.requested_by,
    erasure_requested_at: formatTime(closed.requested_us),
    erasure_completed_at: formatTime(completed_us),
    log_seq,
  })
}

interface Path {
  readonly path: string
  readonly result: 'destroyed' | 'revoked' | 'present'
}

async function observe(kernel: Kernel, tenant_id: string): Promise<Path[]> {
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

async function sign(kernel: Kernel, statement: TenantErasureStatement): Promise<TenantCertificate> {
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
  assert(verdict.valid, `a certificate that does not verify was made: ${verdict.reason}`)
  return certificate
}
