// The loopback payment provider of a service under test.

import assert from 'node:assert/strict'
import { type LoopbackProvider, loopbackOf, signEvent } from '../slices/billing/payment-provider.ts'
import type { TestService } from './harness.ts'

export const providerOf = ({ kernel }: Pick<TestService, 'kernel'>): LoopbackProvider =>
  loopbackOf(kernel) ?? assert.fail('the service has no loopback provider')

/** The header that signs an event now. */
export const signPayment = (raw: string, secret: string): string =>
  signEvent(raw, secret, Math.floor((performance.timeOrigin + performance.now()) / 1_000))
