// GET /v1/gcrumbs/verify: continues after this process's last verification, or verifies everything.

import { Worker } from 'node:worker_threads'
import type { DatabaseSource } from '../../platform/db/database.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { type LogVerdict, UNVERIFIED, type VerifiedState, type VerifyTask } from './verify-log.ts'
import type { VerifyReply, VerifyRequest } from './verify-worker.ts'

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
  const verdict = await verifier(kernel).verify(kernel.db.source, tenant_id, {
    from,
    keys: kernel.keyring.publishedKeys(),
    origin: kernel.settings.origin,
    signed: signed && { generation: signed.generation, tree_size: signed.tree_size },
  })
  if (verdict.status === 'intact') {
    if (known.size >= VERIFIED_TENANTS_MAX) known.clear()
    known.set(tenant_id, verdict.state)
  }
  return verdict
}

const verifier = perKernel(() => new Verifier())

const refusalOf = ({ code, retry_after_s }: NonNullable<VerifyReply['refusal']>): Refusal =>
  new Refusal(code, undefined, retry_after_s === undefined ? {} : { retry_after_s })

/** One thread, started at the first verification: starting it costs more than most logs do. */
class Verifier {
  readonly #waiting = new Map<
    number,
    { resolve(verdict: LogVerdict): void; reject(reason: Error): void }
  >()
  #worker: Worker | undefined
  #next = 0

  verify(source: DatabaseSource, tenant_id: string, task: VerifyTask): Promise<LogVerdict> {
    return new Promise((resolve, reject) => {
      const id = this.#next++
      this.#waiting.set(id, { resolve, reject })
      const worker = this.#start()
      worker.ref()
      const request: VerifyRequest = { id, source, tenant_id, task }
      worker.postMessage(request)
    })
  }

  #start(): Worker {
    if (this.#worker) return this.#worker
    const worker = new Worker(new URL('./verify-worker.ts', import.meta.url), {
      execArgv: ['--disable-warning=ExperimentalWarning'],
    })
    worker.on('message', (reply: VerifyReply) => this.#settle(reply))
    worker.on('error', () => this.#fail())
    worker.on('exit', () => this.#fail())
    this.#worker = worker
    return worker
  }

  #settle({ id, verdict, error, refusal }: VerifyReply): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (verdict) waiting?.resolve(verdict)
    else if (refusal) waiting?.reject(refusalOf(refusal))
    else waiting?.reject(new Error(`the verification failed: ${error}`))
    // An idle thread does not keep the process alive.
    if (this.#waiting.size === 0) this.#worker?.unref()
  }

  #fail(): void {
    this.#worker = undefined
    for (const { reject } of this.#waiting.values()) reject(new Error('the verifier stopped'))
    this.#waiting.clear()
  }
}
