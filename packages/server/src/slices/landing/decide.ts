// POST /v1/landing/{certificate_id}/approve and /reject: a person decides what waits.

import type { landing as contract } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { applyDecision, readDecision } from '../records/index.ts'
import { documentOf, landingRegistry } from './landing-registry.ts'

type Op<K extends keyof typeof contract> = (typeof contract)[K]

export const approve: Handler<Op<'approve'>> = async (call, { params, body }) => {
  const decision = readDecision('approve', body)
  return documentOf(await applyDecision(call, landingRegistry, params.certificate_id, decision))
}

export const reject: Handler<Op<'reject'>> = async (call, { params, body }) => {
  const { certificate_id } = params
  await applyDecision(call, landingRegistry, certificate_id, readDecision('deny', body))
  return { certificate_id, status: 'denied', approver: body.approver }
}
