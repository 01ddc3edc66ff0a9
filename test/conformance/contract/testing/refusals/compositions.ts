// For every refusal an operation of compositions declares, a request that provokes it.

import { askWith, decidingCases, type Provoke, underLimit } from './provoke.ts'

const COMPOSE = 'compositions.compose'
const APPROVE = 'compositions.approve'

const named = (ref_id: string, certified = true) => [{ ref_id, license: 'MIT', certified }]

/** A redaction would take away which member is meant. */
const redacted: Provoke = async (world) => {
  const config = { entities: ['EMAIL_ADDRESS'], redact: true, check_fields: ['members'] }
  const body = { name: 'no mail', policy_type: 'pii_guard', action: 'log_only', config }
  await world.tenant.ok('governance.create_policy', { body })
  return askWith(world, COMPOSE, { members: named('model of eve@example.org') })
}

/** A policy made since would take the target out of what a person was shown. */
const redactedSince: Provoke = async (world) => {
  const config = { patterns: [world.word], redact: true, check_fields: ['target'] }
  const body = { name: 'no word', policy_type: 'pii_guard', action: 'log_only', config }
  await world.tenant.ok('governance.create_policy', { body })
  return askWith(world, APPROVE)
}

/** A member that is registered, and not certified, by the time it is approved. */
const contradicted: Provoke = async (world) => {
  const { members } = await world.tenant.ok('compositions.get', {
    params: { composition_id: world.ids.waiting_composition_id },
  })
  const body = {
    ...{ artifact_ref: members[0].ref_id, base_model_ref: 'base' },
    layers: [{ digest: 'f'.repeat(64) }],
  }
  await world.tenant.ok('artifacts.register', { body })
  return askWith(world, APPROVE)
}

/** Cases by `operation code`. */
export const provokingCompositions: Readonly<Record<string, Provoke>> = {
  ...decidingCases({
    approve: APPROVE,
    reject: 'compositions.reject',
    gate: 'compositions.compose',
    waiting: ({ ids }) => ids.waiting_composition_id,
    asker: () => 'ana',
  }),
  [`${COMPOSE} rejected`]: (world) => askWith(world, COMPOSE, { members: named('a', false) }),
  [`${COMPOSE} policy_denied`]: redacted,
  [`${COMPOSE} rate_limited`]: underLimit(COMPOSE, COMPOSE),
  'compositions.list rejected': ({ tenant }) =>
    tenant.ask('compositions.list', { query: { cursor: 'not-a-cursor' } }),
  // A denial is `rejected` here; what a policy would take out afterwards is denied.
  [`${APPROVE} policy_denied`]: redactedSince,
  [`${APPROVE} rejected`]: contradicted,
}
