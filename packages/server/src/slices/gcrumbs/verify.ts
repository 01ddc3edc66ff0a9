// GET /v1/gcrumbs/verify: continues after this process's last verification, or verifies everything.

import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { WorkerRequests } from '../../platform/worker-requests.ts'
import { type LogVerdict, UNVERIFIED, type VerifiedState } from './verify-log.ts'
import type { verify } from './verify-worker.ts'

const verified = perKernel(() => new Map<string, VerifiedState>())
const VERIFIED_TENANTS_MAX = 10_000

/** Verifies the tenant's log; remembers how far it was intact. */
export async function verifyChain(
  kernel: Kernel,
  tenant_id: string,
  options: { full: boolean },
): Promise<LogVerdict> {
  const known = verified(kernel)
  const from = (options.full ? undefined : known.get(tenant_id)) ?? UNVERIFIED
  const signed = await kernel.keyring.checkpoints.last(tenant_id)
  const task = {
    from,
    keys: kernel.keyring.publishedKeys(),
    origin: kernel.settings.origin,
    signed: signed && { generation: signed.generation, tree_size: signed.tree_size },
  }
  const verdict = await verifyInWorker({ source: kernel.db.source, tenant_id, task })
  if (verdict.status === 'intact') {
    if (known.size >= VERIFIED_TENANTS_MAX) known.clear()
    known.set(tenant_id, verdict.state)
  }
  return verdict
}

/** One thread of the process: each request names the database. */
const verifier = new WorkerRequests<
  Parameters<typeof verify>[0],
  Awaited<ReturnType<typeof verify>>
>(new URL('./verify-worker.ts', import.meta.url))

async function verifyInWorker(log: Parameters<typeof verify>[0]): Promise<LogVerdict> {
  const { verdict, error, refusal } = await verifier.ask(log)
  if (verdict) return verdict
  if (!refusal) throw new Error(`the verification failed: ${error}`)
  const { code, retry_after_s } = refusal
  throw new Refusal(code, undefined, retry_after_s === undefined ? {} : { retry_after_s })
}
