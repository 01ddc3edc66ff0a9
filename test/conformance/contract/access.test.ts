// Who may call what: every operation of the table against every kind of credential.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  type OperationSpec,
  type RefusalCode,
  ROLE_SCOPES,
  SCOPES,
  type Scope,
} from '@custos/contract'
import type { Answer, TestService } from '../../../packages/server/src/testing/harness.ts'
import { exampleOf, needsOf } from './examples.ts'
import { CONSUMING } from './testing/consuming.ts'
import { startContractService } from './testing/payments.ts'
import { operations, type Sent } from './testing/table.ts'
import { assertRefusal, send, type Tenant } from './testing/tenant.ts'
import { buildWorld, GHOSTS, type World } from './testing/world.ts'

let service: TestService
let world: World
const keys = new Map<string, string>()

before(async () => {
  service = await startContractService()
  world = await buildWorld(service)
})

after(() => service.stop())

/** A key of the tenant with exactly these scopes. */
async function keyWith(tenant: Tenant, scopes: readonly Scope[]): Promise<string> {
  const name = `${tenant.tenant_id} ${scopes.join(' ')}`
  const known = keys.get(name)
  if (known !== undefined) return known
  const { api_key } = await tenant.withKey({ class: 'service', scopes })
  keys.set(name, api_key)
  return api_key
}

const ALL_BUT = (lacking: Scope): Scope[] =>
  SCOPES.filter((scope) => scope !== lacking && scope !== '*' && scope !== 'admin:platform')

/** The example of the shared tenant; its things are only named, never taken. */
const sentTo = (operation: OperationSpec): Sent => exampleOf(operation.id, world.ids)

const ask = (operation: OperationSpec, key?: string, headers: Record<string, string> = {}) => {
  const sent = sentTo(operation)
  const more = { ...sent, headers: { ...sent.headers, ...headers } }
  return send(service, operation.id, more, { key })
}

function assertChallenge(answer: Answer, code: RefusalCode, about: string): void {
  assertRefusal(answer, code, about)
  assert.equal(answer.headers.get('www-authenticate'), 'Bearer realm="custos"', about)
}

// The checksum of a key is part of it: the last one is well formed and simply nobody's.
const WRONG_KEYS = [
  'nonsense',
  'cst_tenant_000000000000000000000000000000000000',
  'operator-key-for-tests-0123456780',
  'a'.repeat(2_000),
]

describe('without a credential', () => {
  for (const operation of operations)
    test(`${operation.id} answers 401 exactly when it is not public`, async () => {
      if (operation.access === 'public') {
        const { status, text } = await ask(operation)
        assert.equal(status, operation.status, text)
        return
      }
      assertChallenge(await ask(operation), 'unauthenticated', operation.id)
    })
})

describe('with a wrong credential', () => {
  for (const operation of operations.filter(({ access }) => access !== 'public'))
    test(`${operation.id} answers 401 in either header`, async () => {
      for (const key of WRONG_KEYS) {
        const note = `${operation.id} ${key.slice(0, 20)}`
        assertChallenge(await ask(operation, key), 'unauthenticated', note)
        const header = await ask(operation, undefined, { 'x-api-key': key })
        assertChallenge(header, 'unauthenticated', note)
      }
      const { api_key } = world.tenant
      const two = await ask(operation, api_key, { 'x-api-key': `${api_key}x` })
      assertChallenge(two, 'credentials_differ', operation.id)
    })
})

/** The one it is in the group of, and those of what its answer shows. */
const scopesOf = ({ scope, extra_scopes = [] }: OperationSpec): Scope[] =>
  scope === undefined ? [] : [scope, ...extra_scopes]

describe('with a key that lacks the scope', () => {
  for (const operation of operations) {
    for (const scope of scopesOf(operation))
      test(`${operation.id} answers 403 without ${scope}`, async () => {
        const lacking = await keyWith(world.tenant, ALL_BUT(scope))
        assertRefusal(await ask(operation, lacking), 'scope_missing', operation.id)
      })
  }
})

/** Nobody gives a person what they lack, or changes a person who may do more. */
const GRANTED: Readonly<Record<string, readonly Scope[]>> = {
  'identity.invite': ROLE_SCOPES.viewer,
  'identity.update_user': ROLE_SCOPES.viewer,
  'identity.remove_user': ROLE_SCOPES.viewer,
  'identity.create_connection': ROLE_SCOPES.auditor,
  'identity.configure': ROLE_SCOPES.auditor,
  'identity.update_connection': ROLE_SCOPES.viewer,
  'identity.verify_domain': ROLE_SCOPES.owner,
}

describe('with a key of the scopes it needs and no more', () => {
  for (const operation of operations) {
    const { access } = operation
    const needed = [...scopesOf(operation), ...(GRANTED[operation.id] ?? [])]
    const scopes: readonly Scope[] = needed.length === 0 ? ['manifold:read'] : needed
    if (access === 'public' || access === 'operator') continue
    test(`${operation.id} is done for a key of ${scopes.join(' and ')} alone`, async () => {
      const { tenant, ids } = CONSUMING.has(operation.id)
        ? await buildWorld(service, needsOf(operation.id))
        : world
      const key = await keyWith(tenant, scopes)
      const answer = await send(service, operation.id, exampleOf(operation.id, ids), { key })
      assert.equal(answer.status, operation.status, answer.text)
    })
  }
})

describe('with a credential of the other kind', () => {
  for (const operation of operations)
    test(`${operation.id} tells tenant and operator apart`, async () => {
      const { access, id } = operation
      if (access === 'operator')
        assertRefusal(await ask(operation, world.tenant.api_key), 'operator_required', id)
      if (access === 'tenant')
        assertRefusal(await ask(operation, service.operator_key), 'tenant_required', id)
      if (access === 'either')
        assert.equal((await ask(operation, service.operator_key)).status, 200)
      if (access !== 'operator_or_self') return
      const fresh = CONSUMING.has(id) ? await buildWorld(service, needsOf(id)) : world
      const operator = { key: service.operator_key }
      const sent = exampleOf(id, fresh.ids)
      assert.equal((await send(service, id, sent, operator)).status, operation.status)
      const ghost = await send(service, id, exampleOf(id, GHOSTS), operator)
      assertRefusal(ghost, 'tenant_not_found', id)
    })
})

test('a key that was revoked or has expired is refused from the next request on', async () => {
  const made = await world.tenant.ok('keys.create', { body: { name: 'short' } })
  const asked = () => send(service, 'memory.list_stores', {}, { key: made.api_key })
  assert.equal((await asked()).status, 200)
  await world.tenant.ok('keys.revoke', { params: { key_id: made.key_id } })
  assertChallenge(await asked(), 'unauthenticated', 'revoked')

  const ends_us = service.kernel.clock.now() + 150_000
  const expires_at = new Date(ends_us / 1000).toISOString()
  const short = await world.tenant.ok('keys.create', { body: { expires_at } })
  await new Promise((resolve) => setTimeout(resolve, 200))
  const late = await send(service, 'memory.list_stores', {}, { key: short.api_key })
  assertChallenge(late, 'unauthenticated', 'expired')
})
