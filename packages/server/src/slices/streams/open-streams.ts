// The streams a process has open: how many there may be, their heartbeats, and when they end.

import { limits } from '@custos/contract'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { limitsAt } from '../../platform/kernel/plan-limits.ts'
import { Refusal } from '../../platform/refusal.ts'
import { isInForce } from '../identity/index.ts'
import { onCredentialChange } from '../tenants/index.ts'
import { LogStream, type StreamRequest } from './log-stream.ts'

const TICK_MS = 500
const RETRY_AFTER_S = 10

class OpenStreams {
  readonly #kernel: Kernel
  readonly #streams = new Set<LogStream>()
  #timer: NodeJS.Timeout | undefined
  #stopping = false

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    // A key that was revoked here ends its streams at once; those of others at a heartbeat.
    onCredentialChange(kernel, () => void this.#check([...this.#streams]))
  }

  /** Refuses `rate_limited` where there are too many, `unavailable` once the process stops. */
  open(request: StreamRequest, gone: AbortSignal): LogStream {
    if (this.#stopping) throw new Refusal('unavailable', 'The process is stopping')
    this.#requirePlace(request)
    const stream = new LogStream(this.#kernel, request)
    this.#streams.add(stream)
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref()
    const close = () => {
      stream.end('over')
      this.#streams.delete(stream)
      if (this.#streams.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    if (gone.aborted) close()
    else gone.addEventListener('abort', close, { once: true })
    return stream
  }

  stop(): void {
    this.#stopping = true
    for (const stream of this.#streams) stream.end('stopping')
  }

  #requirePlace({ tenant_id, principal: { key_id, plan } }: StreamRequest): void {
    let [ofTenant, ofKey] = [0, 0]
    for (const { request } of this.#streams) {
      if (request.tenant_id !== tenant_id) continue
      ofTenant += 1
      if (request.principal.key_id === key_id) ofKey += 1
    }
    const { per_key, per_process } = limits.open_streams
    const { settings, clock } = this.#kernel
    const per_tenant = limitsAt(settings.plans, plan ?? null, clock.now()).streams ?? per_process
    const full =
      (ofKey >= per_key && `The key has ${per_key} streams open`) ||
      (ofTenant >= per_tenant && `The tenant has ${per_tenant} streams open`) ||
      (this.#streams.size >= per_process && 'The process has as many streams open as it can')
    if (full) throw new Refusal('rate_limited', full, { retry_after_s: RETRY_AFTER_S })
  }

  #tick(): void {
    const now_us = this.#kernel.clock.now()
    const due = [...this.#streams].filter((stream) => stream.tick(now_us))
    if (due.length === 0) return
    void this.#check(due).then(() => {
      for (const stream of due) stream.beat()
    })
  }

  /** Ends those whose credential has ended; each credential is looked up once. */
  async #check(streams: readonly LogStream[]): Promise<void> {
    const stored = streams.filter(({ request }) => request.principal.kind === 'tenant')
    const byCredential = Map.groupBy(
      stored,
      ({ request: { principal } }) => principal.session?.session_id ?? principal.key_id,
    )
    const checks = [...byCredential.values()].map(async (same) => {
      const [first] = same
      if (first && (await this.#isInForce(first))) return
      for (const stream of same) stream.end('over')
    })
    // Where credentials cannot be read, the log cannot be either: the next heartbeat looks again.
    await Promise.allSettled(checks)
  }

  /** The key of a tenant that another cluster serves is refused, and not in force here. */
  async #isInForce({ request: { principal } }: LogStream): Promise<boolean> {
    try {
      return await isInForce(this.#kernel, principal)
    } catch (error) {
      if (error instanceof Refusal && error.code === 'tenant_moved') return false
      throw error
    }
  }
}

export const openStreams = perKernel((kernel) => new OpenStreams(kernel))
