// Nobody gains rights: a credential may do at most what its maker may, by every way to make one.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  CREDENTIAL_CLASSES,
  type Scope,
  scopeCovers,
  TOKEN_SCOPES,
  TRUST_TIERS,
  type TrustTier,
} from '@custos/contract'
import fc from 'fast-check'
import { formatTime } from '../../platform/clock.ts'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { KEY_ID_BYTES, sealLimit } from './credential-limit.ts'
import { findByKey, issueKey } from './credentials.ts'
import { findExcessRight, OPERATOR_RIGHTS, type Rights, rightsOf, TENANT_RIGHTS } from './rights.ts'

const HOUR_US = 3_600_000_000
const SCOPES: Scope[] = ['memory:read', 'memory:write', 'keys:admin', 'cgr:read', '*']
const STORES = ['a', 'b', 'c']
const NAMESPACES = [null, 'x', 'y']
/** In the order of what they may make. */
const CLASSES = ['token', 'read_only', 'service', 'tenant', 'operator']

/** One thing that a credential may or may not do. */
interface Ability {
  readonly scope: Scope
  readonly store_id: string
  readonly namespace: string | null
  readonly tier: TrustTier
  readonly at_us: number
}

/** Told in other words than the function under test. */
const may = (rights: Rights, { scope, store_id, namespace, tier, at_us }: Ability): boolean =>
  scopeCovers(rights.scopes, scope) &&
  (rights.allowed_stores.length === 0 || rights.allowed_stores.includes(store_id)) &&
  (rights.namespace === undefined || rights.namespace === namespace) &&
  TRUST_TIERS.indexOf(tier) <= TRUST_TIERS.indexOf(rights.max_trust_tier ?? 'root') &&
  at_us < (rights.expires_us ?? Number.POSITIVE_INFINITY)

function* allAbilities(times: readonly number[]): Generator<Ability> {
  for (const scope of [...SCOPES, 'governance:admin'] as const)
    for (const store_id of [...STORES, 'd'])
      for (const namespace of [...NAMESPACES, 'z'])
        for (const tier of TRUST_TIERS)
          for (const at_us of times) yield { scope, store_id, namespace, tier, at_us }
}

/** What `made` may do and `maker` may not; null: nothing. */
function findGain(made: Rights, maker: Rights): unknown {
  if (CLASSES.indexOf(made.class) > CLASSES.indexOf(maker.class)) return made.class
  const ends = [made.expires_us, maker.expires_us].map((us) => us ?? 2 ** 52)
  const times = [0, ...ends.map((us) => us - 1), ...ends, 2 ** 53 - 1]
  for (const ability of allAbilities(times))
    if (may(made, ability) && !may(maker, ability)) return ability
  return null
}

const someOf = <T>(items: readonly T[], minLength = 0) => fc.subarray([...items], { minLength })

const namespaces = fc.option(fc.constantFrom(...NAMESPACES), { nil: undefined })
const hours = fc.option(fc.integer({ min: 1, max: 48 }))
const tiers = fc.option(fc.constantFrom(...TRUST_TIERS))

const anyRights = (now_us: number): fc.Arbitrary<Rights> =>
  fc.record({
    class: fc.constantFrom(...CREDENTIAL_CLASSES),
    scopes: someOf(SCOPES, 1),
    allowed_stores: someOf(STORES),
    namespace: namespaces,
    max_trust_tier: tiers,
    expires_us: hours.map((h) => h && now_us + h * HOUR_US),
  })

describe('findExcessRight', () => {
  test('is null exactly when nothing can be done that the maker cannot do', () => {
    fc.assert(
      fc.property(anyRights(0), anyRights(0), (made, maker) => {
        const excess = findExcessRight(made, maker)
        assert.equal(excess === null, findGain(made, maker) === null, String(excess))
      }),
      { seed: 15, numRuns: 400 },
    )
  })

  test('lets everything make its like, and operators everything a tenant can have', () => {
    fc.assert(
      fc.property(anyRights(0), (rights) => {
        assert.equal(findExcessRight(rights, rights), null)
        assert.equal(findExcessRight(rights, OPERATOR_RIGHTS), null)
      }),
    )
  })
})

describe('every operation that makes a credential', () => {
  let service: TestService
  let tenant_id: string

  before(async () => {
    service = await startTestService()
    const tenant = await service.createTenant()
    tenant_id = tenant.tenant_id
    for (const store_id of STORES)
      await service.request('POST', '/v1/stores', { key: tenant.api_key, body: { store_id } })
  })
  after(() => service.stop())

  /** A key of the tenant with these rights, however it came by them. */
  async function keyWith({ namespace, ...rights }: Rights): Promise<string> {
    const { kernel } = service
    const key_id = kernel.ids.hex(KEY_ID_BYTES)
    const limit = await sealLimit(kernel, tenant_id, { key_id, namespace })
    const fresh = { ...rights, tenant_id, name: 'maker', limit }
    const issued = await kernel.db.transact(tenant_id, (tx) =>
      issueKey(kernel, tx, fresh, { rights: OPERATOR_RIGHTS }),
    )
    return issued.api_key
  }

  async function rightsBehind(api_key: string): Promise<Rights> {
    const principal = await findByKey(service.kernel, api_key)
    return rightsOf(principal ?? assert.fail('it is no key'))
  }

  const requests = fc.record({
    create: fc.record(
      {
        class: fc.constantFrom('tenant', 'read_only', 'service'),
        scopes: someOf(SCOPES, 1),
        allowed_stores: someOf(STORES, 1),
        namespace: fc.constantFrom('x', 'y'),
        max_trust_tier: tiers,
        hours,
      },
      { requiredKeys: [] },
    ),
    token: fc.record({
      store_id: fc.constantFrom(...STORES),
      namespace: fc.constantFrom('x', 'y'),
      scopes: someOf(TOKEN_SCOPES, 1),
      ttl_s: fc.integer({ min: 1, max: 86_400 }),
    }),
  })

  /** The rights of what a maker gets out of the service; it is asked to rotate last. */
  async function* makeAll(
    key: string,
    asked: typeof requests extends fc.Arbitrary<infer R> ? R : never,
  ): AsyncGenerator<Rights> {
    const { hours: ends, ...create } = asked.create
    const now_us = service.kernel.clock.now()
    const expires_at = ends == null ? ends : formatTime(now_us + ends * HOUR_US)
    const sent = [
      ['/v1/keys', { ...create, expires_at }],
      ['/v1/keys', {}],
      ['/v1/keys/tokens', asked.token],
      ['/v1/cloud/tenants', {}],
      [`/v1/cloud/tenants/${tenant_id}/rotate-key`, undefined],
    ] as const
    for (const [path, body] of sent) {
      const { status, text, body: made } = await service.request('POST', path, { key, body })
      assert.ok(status < 500, text)
      // Now: a token ends with the key that the rotation replaces.
      if (status < 300) yield rightsBehind(made.api_key ?? made.token)
    }
  }

  test("'keys.create', 'keys.create_token' and 'tenants.rotate_key' grant no more", async () => {
    let granted = 0
    const anyMaker = anyRights(service.kernel.clock.now()).filter(
      (rights) => rights.class !== 'operator',
    )
    // Most may ask for keys at all: of the others the answer is always a refusal.
    const keyMaker = anyMaker.map(({ namespace: _, scopes, ...rights }): Rights => {
      return { ...rights, scopes: [...scopes, 'keys:admin', 'memory:read'] }
    })
    const makers = fc.oneof(anyMaker, { arbitrary: keyMaker, weight: 3 })
    await fc.assert(
      fc.asyncProperty(makers, requests, async (maker, asked) => {
        const key = await keyWith(maker)
        for await (const issued of makeAll(key, asked)) {
          granted += 1
          assert.equal(findGain(issued, maker), null)
        }
      }),
      { seed: 15, numRuns: 50 },
    )
    assert.ok(granted > 40, `${granted} were granted`)
  })

  test('an unrestricted key can still make its like', async () => {
    const key = await keyWith(TENANT_RIGHTS)
    const twin = await service.request('POST', '/v1/keys', {
      key,
      body: { class: 'tenant', scopes: ['*'] },
    })
    assert.equal(findExcessRight(TENANT_RIGHTS, await rightsBehind(twin.body.api_key)), null)
  })
})
