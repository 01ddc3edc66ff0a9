// POST /v1/landing/{certificate_id}/approve and /reject: a person decides what waits.

import type { landing as contract } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { decisionOf, resume } from '../records/index.ts'
import { landingRegistry } from './landing-registry.ts'
import { documentOf } from './show-landing.ts'

type Op<K extends keyof typeof contract> = (typeof contract)[K]

export const approve: Handler<Op<'approve'>> = async (call, { params, body }) => {
  const decision = decisionOf('approve', body)
  return documentOf(await resume(call, landingRegistry, params.certificate_id, decision))
}

export const reject: Handler<Op<'reject'>> = async (call, { params, body }) => {
  const { certificate_id } = params
  await resume(call, landingRegistry, certificate_id, decisionOf('deny', body))
  return { certificate_id, status: 'denied', approver: body.approver }
}
