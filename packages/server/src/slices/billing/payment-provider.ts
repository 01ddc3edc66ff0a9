// The payment provider of a process: Stripe, or the loopback provider that runs inside it.

import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { LoopbackProvider } from './loopback-provider.ts'
import { openProvider, type PaymentProvider } from './provider.ts'

/** The key that the loopback provider accepts; it protects no money. */
const LOOPBACK_KEY = 'sk_test_loopback'

class Payments {
  readonly #kernel: Kernel
  #opened: Promise<PaymentProvider> | undefined
  #loopback: LoopbackProvider | undefined

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  provider(): Promise<PaymentProvider> {
    this.#opened ??= this.#open()
    return this.#opened
  }

  get loopback(): LoopbackProvider | undefined {
    return this.#loopback
  }

  async stop(): Promise<void> {
    await this.#loopback?.stop()
  }

  /** Makes the loopback provider send its events to this service. */
  async sendEventsTo(url: string): Promise<void> {
    const { billing } = this.#kernel.settings
    if (billing?.provider !== 'loopback') return
    await this.provider()
    const [secret] = billing.webhook_secrets
    if (secret !== undefined)
      this.#loopback?.sendEventsTo({ url: `${url}/v1/cloud/billing/webhook`, secret })
  }

  async #open(): Promise<PaymentProvider> {
    const { billing } = this.#kernel.settings
    if (billing === null) throw new Refusal('billing_not_configured')
    const { provider, secret_key } = billing
    if (provider === 'stripe') return openProvider(secret_key ?? '')
    const now_s = () => Math.floor(this.#kernel.clock.now() / 1_000_000)
    this.#loopback = await LoopbackProvider.start(now_s)
    return openProvider(secret_key ?? LOOPBACK_KEY, this.#loopback.address)
  }
}

const payments = perKernel((kernel) => new Payments(kernel))

/** Refuses `billing_not_configured`. Throws OperatorError if a package is missing. */
export const paymentProvider = (kernel: Kernel): Promise<PaymentProvider> =>
  payments(kernel).provider()

/** Runs before the service listens, so that a missing package aborts the start. */
export async function openPayments(kernel: Kernel): Promise<void> {
  if (kernel.settings.billing !== null) await paymentProvider(kernel)
}

/** Makes the loopback provider send its events to this service. */
export const sendPaymentEventsTo = (kernel: Kernel, url: string): Promise<void> =>
  payments(kernel).sendEventsTo(url)

/** The loopback provider of this process, if it runs one. */
export const loopbackOf = (kernel: Kernel): LoopbackProvider | undefined =>
  payments(kernel).loopback

export const stopPayments = (kernel: Kernel): Promise<void> => payments(kernel).stop()
