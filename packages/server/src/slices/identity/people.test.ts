// People: invited once, with roles that nobody exceeds, one actor whatever key they use, and gone
// when they are removed.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { limits, ROLE_SCOPES, ROLES } from '@custos/contract'
import { type Answer, startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { movedClock } from '../../testing/skewed-clock.ts'
import { subjectScene } from '../subjects/testing/scene.ts'
import { Browser } from './testing/browser.ts'

const DAY_US = 86_400_000_000
const clock = movedClock()
let service: TestService

before(async () => {
  service = await startTestService({ clock })
})

after(() => service.stop())

type Tenant = Awaited<ReturnType<TestService['createTenant']>>
type Inviter = (body: object) => Promise<Answer>

const codeOf = ({ status, body }: Answer) => `${status} ${body?.error ?? 'ok'}`
const byKey =
  ({ tenant_id, api_key: key }: Tenant): Inviter =>
  (body) =>
    service.request('POST', `/v1/cloud/tenants/${tenant_id}/users`, { key, body })
const bySession =
  ({ tenant_id }: Tenant, browser: Browser): Inviter =>
  (body) =>
    browser.ask('POST', `/v1/cloud/tenants/${tenant_id}/users`, { body })

async function join(invitation: string): Promise<Browser> {
  const browser = new Browser(service)
  const answer = await browser.ask('POST', '/v1/portal/invitation', { body: { invitation } })
  assert.equal(answer.status, 201, answer.text)
  browser.csrf_token = answer.body.csrf_token
  return browser
}

let people = 0

/** A person who has taken the invitation. */
async function enter(invite: Inviter, more: object) {
  people += 1
  const made = await invite({ email: `person-${people}@example.com`, ...more })
  assert.equal(made.status, 201, made.text)
  const { user, invitation } = made.body
  return { user_id: String(user.user_id), browser: await join(invitation) }
}

const ofOwner = async () => {
  const tenant = await service.createTenant()
  return { tenant, owner: await enter(byKey(tenant), { roles: ['owner'] }) }
}

describe("'identity.invite' and 'identity.accept'", () => {
  test('an operator invites the first owner; the invitation is taken once', async () => {
    const { tenant_id } = await service.createTenant()
    const made = await service.request('POST', `/v1/cloud/tenants/${tenant_id}/users`, {
      key: service.operator_key,
      body: { email: 'Ana@Example.com', name: 'Ana', roles: ['viewer', 'owner'] },
    })
    assert.equal(made.status, 201, made.text)
    const { user, invitation } = made.body
    assert.deepEqual(
      [user.state, user.email, user.roles],
      ['invited', 'Ana@Example.com', ['owner', 'viewer']],
    )
    const browser = await join(invitation)
    const me = (await browser.ask('GET', '/v1/portal/me')).body
    assert.deepEqual(me.user, { user_id: user.user_id, name: 'Ana', roles: ['owner', 'viewer'] })
    assert.deepEqual([me.mode, me.tenant_id, me.key_id], ['session', tenant_id, null])
    assert.ok(me.scopes.includes('*'))
    const again = await service.request('POST', '/v1/portal/invitation', { body: { invitation } })
    assert.equal(codeOf(again), '400 login_expired')
    const { users } = (await browser.ask('GET', '/v1/portal/users')).body
    assert.deepEqual(
      users.map(({ state, email }: Record<string, string>) => [state, email]),
      [['active', 'Ana@Example.com']],
    )
    const taken = await bySession(
      { tenant_id, api_key: '' },
      browser,
    )({
      email: 'ana@example.COM',
      roles: ['viewer'],
    })
    assert.equal(codeOf(taken), '409 name_taken')
  })

  test('an unknown, a foreign and a late invitation are refused alike', async () => {
    const tenant = await service.createTenant()
    const made = await byKey(tenant)({ email: 'late@example.com', roles: ['viewer'] })
    const { invitation } = made.body
    const other = await service.createTenant()
    const random = invitation.slice(invitation.lastIndexOf('.') + 1)
    const wrong = [
      'x',
      '.',
      `${tenant.tenant_id}.x`,
      `${other.tenant_id}.${random}`,
      `none.${random}`,
    ]
    const take = (text: string) =>
      service.request('POST', '/v1/portal/invitation', { body: { invitation: text } })
    for (const text of wrong) assert.equal(codeOf(await take(text)), '400 login_expired', text)
    clock.forward(7 * DAY_US + 1)
    assert.equal(codeOf(await take(invitation)), '400 login_expired')
  })

  test('many who take one invitation at the same time begin one session', async () => {
    const tenant = await service.createTenant()
    const made = await byKey(tenant)({ email: 'once@example.com', roles: ['viewer'] })
    const { invitation } = made.body
    const take = () => service.request('POST', '/v1/portal/invitation', { body: { invitation } })
    const answers = await Promise.all(Array.from({ length: 20 }, take))
    assert.equal(answers.filter(({ status }) => status === 201).length, 1)
    const key = tenant.api_key
    const { sessions } = (await service.request('GET', '/v1/portal/sessions', { key })).body
    assert.equal(sessions.length, 1)
  })

  test('each role is its list of scopes', async () => {
    const tenant = await service.createTenant()
    for (const role of ROLES) {
      const { browser } = await enter(byKey(tenant), { roles: [role] })
      const { scopes } = (await browser.ask('GET', '/v1/portal/me')).body
      assert.deepEqual(scopes.toSorted(), [...ROLE_SCOPES[role]].toSorted())
      const { status } = await browser.ask('POST', '/v1/keys', { body: {} })
      assert.equal(status, role === 'owner' || role === 'admin' ? 201 : 403, role)
    }
  })

  test('nobody grants more than they have', async () => {
    const { tenant, owner } = await ofOwner()
    const admin = await enter(bySession(tenant, owner.browser), { roles: ['admin'] })
    const viewer = await enter(bySession(tenant, owner.browser), { roles: ['viewer'] })
    const asAdmin = bySession(tenant, admin.browser)
    const more = { email: 'more@example.com', roles: ['owner'] }
    assert.equal(codeOf(await asAdmin(more)), '403 scope_missing')
    assert.equal(codeOf(await bySession(tenant, viewer.browser)(more)), '403 scope_missing')
    const change = (user_id: string, body: object) =>
      admin.browser.ask('PUT', `/v1/portal/users/${user_id}`, { body })
    assert.equal(codeOf(await change(admin.user_id, { roles: ['owner'] })), '403 scope_missing')
    assert.equal(codeOf(await change(owner.user_id, { roles: ['viewer'] })), '403 scope_missing')
    const removed = await admin.browser.ask('DELETE', `/v1/portal/users/${owner.user_id}`)
    assert.equal(codeOf(removed), '403 scope_missing')
    assert.equal((await change(viewer.user_id, { roles: ['auditor'] })).status, 200)
  })

  test("a person of some stores sees only those, and nobody else in 'identity.users'", async () => {
    const { tenant, owner } = await ofOwner()
    await owner.browser.ask('POST', '/v1/stores', { body: { store_id: 'mine' } })
    const invite = bySession(tenant, owner.browser)
    const limited = await enter(invite, { roles: ['admin'], stores: ['mine'] })
    const { stores } = (await limited.browser.ask('GET', '/v1/portal/me')).body
    assert.deepEqual(stores, ['mine'])
    const other = await limited.browser.ask('GET', '/v1/stores/default')
    assert.equal(codeOf(other), '404 store_not_found')
    const listed = await limited.browser.ask('GET', '/v1/portal/users')
    assert.equal(codeOf(listed), '403 scope_missing')
    const unknown = await invite({ email: 'x@example.com', roles: ['viewer'], stores: ['none'] })
    assert.equal(codeOf(unknown), '404 store_not_found')
  })

  test('texts and lists are held to their limits', async () => {
    const tenant = await service.createTenant()
    const invite = byKey(tenant)
    const address = (chars: number) => `${'a'.repeat(chars - 4)}@b.c`
    const statusOf = async (body: object) => (await invite({ roles: ['viewer'], ...body })).status
    assert.equal(await statusOf({ email: address(limits.email_chars) }), 201)
    assert.equal(await statusOf({ email: address(limits.email_chars + 1) }), 422)
    for (const email of ['', 'ana', '@', 'a b@c', 'a@b@c'])
      assert.equal(await statusOf({ email }), 422, email)
    const email = 'stores@example.com'
    const stores = (count: number) => Array<string>(count).fill('default')
    assert.equal(await statusOf({ email, stores: stores(limits.user_stores) }), 201)
    assert.equal(
      await statusOf({ email: `x${email}`, stores: stores(limits.user_stores + 1) }),
      422,
    )
    assert.equal(await statusOf({ email: `x${email}`, stores: [] }), 422)
    assert.equal(await statusOf({ email: `x${email}`, roles: [] }), 422)
    assert.equal(await statusOf({ email: `x${email}`, roles: ['root'] }), 422)
    for (const [chars, status] of [
      [limits.invitation_chars, 400],
      [limits.invitation_chars + 1, 422],
    ] as const) {
      const body = { invitation: 'x'.repeat(chars) }
      const answer = await service.request('POST', '/v1/portal/invitation', { body })
      assert.equal(answer.status, status)
    }
  })

  test('a tenant has at most users_per_tenant people', async () => {
    const tenant = await service.createTenant()
    const made = await byKey(tenant)({ email: 'first@example.com', roles: ['viewer'] })
    const columns = 'state, roles, allowed_stores, secret_no, created_us'
    for (let count = 1; count < limits.users_per_tenant - 1; count += 1)
      await rawSql(
        service,
        `insert into users (tenant_id, user_id, email_label, ${columns}) select tenant_id, ?, ?, ` +
          `${columns} from users where user_id = ?`,
        [`u${count}`, `l${count}`, made.body.user.user_id],
      )
    const last = await byKey(tenant)({ email: 'last@example.com', roles: ['viewer'] })
    assert.equal(last.status, 201, last.text)
    const more = await byKey(tenant)({ email: 'more@example.com', roles: ['viewer'] })
    assert.equal(codeOf(more), '409 too_many')
  })
})

describe("'identity.update_user' and 'identity.remove_user'", () => {
  test('the last owner is neither removed nor demoted', async () => {
    const { tenant, owner } = await ofOwner()
    const path = `/v1/portal/users/${owner.user_id}`
    const invited = await bySession(tenant, owner.browser)({ email: 'o@e.f', roles: ['owner'] })
    const demote = () => owner.browser.ask('PUT', path, { body: { roles: ['viewer'] } })
    assert.equal(codeOf(await demote()), '409 last_owner')
    assert.equal(codeOf(await owner.browser.ask('DELETE', path)), '409 last_owner')
    await join(invited.body.invitation)
    assert.equal((await demote()).status, 200)
  })

  test('of two owners who are removed at once one stays, with name and address', async () => {
    const { tenant, owner } = await ofOwner()
    const { api_key: key } = tenant
    const other = await enter(bySession(tenant, owner.browser), { roles: ['owner'], name: 'Ada' })
    const ids = [owner.user_id, other.user_id]
    const answers = await Promise.all(
      ids.map((id) => service.request('DELETE', `/v1/portal/users/${id}`, { key })),
    )
    assert.deepEqual(answers.map(codeOf).toSorted(), ['200 ok', '409 last_owner'])
    const { users } = (await service.request('GET', '/v1/portal/users', { key })).body
    assert.equal(users.length, 1)
    assert.match(users[0].email, /@example\.com$/)
    assert.equal(users[0].state, 'active')
  })

  test('other roles end the sessions and the keys that may do more', async () => {
    const { tenant, owner } = await ofOwner()
    const admin = await enter(bySession(tenant, owner.browser), { roles: ['admin'] })
    const makeKey = async (body: object) =>
      (await admin.browser.ask('POST', '/v1/keys', { body })).body.api_key
    const [wide, narrow] = [await makeKey({}), await makeKey({ class: 'read_only' })]
    const path = `/v1/portal/users/${admin.user_id}`
    const body = { roles: ['auditor'] }
    const changed = await owner.browser.ask('PUT', path, { body })
    assert.deepEqual(changed.body.roles, ['auditor'])
    assert.equal(codeOf(await admin.browser.ask('GET', '/v1/stores')), '401 unauthenticated')
    const asked = async (key: string) =>
      (await service.request('GET', '/v1/stores', { key })).status
    assert.deepEqual([await asked(wide), await asked(narrow)], [401, 200])
    const name = { body: { name: 'Ada' } }
    assert.equal((await owner.browser.ask('PUT', path, name)).body.name, 'Ada')
  })

  test('removal ends sessions and keys, and destroys name and address', async () => {
    const { tenant, owner } = await ofOwner()
    const invite = bySession(tenant, owner.browser)
    const one = await enter(invite, { roles: ['admin'], name: 'Ada' })
    const { api_key } = (await one.browser.ask('POST', '/v1/keys', { body: {} })).body
    const [row] = await rawSql(service, 'select secret_no from users where user_id = ?', [
      one.user_id,
    ])
    const path = `/v1/portal/users/${one.user_id}`
    const removed = await owner.browser.ask('DELETE', path)
    assert.deepEqual(removed.body, { user_id: one.user_id, removed: true, revoked_keys: 1 })
    assert.equal(codeOf(await one.browser.ask('GET', '/v1/stores')), '401 unauthenticated')
    assert.equal((await service.request('GET', '/v1/stores', { key: api_key })).status, 401)
    const number = Number(row?.['secret_no'])
    const secrets = await service.kernel.keyring.secrets(tenant.tenant_id, 'decision', [number])
    assert.deepEqual([...secrets.values()], [null])
    assert.equal(codeOf(await owner.browser.ask('DELETE', path)), '404 user_not_found')

    const two = await enter(invite, { roles: ['admin'] })
    const kept = (await two.browser.ask('POST', '/v1/keys', { body: {} })).body
    await owner.browser.ask('DELETE', `/v1/portal/users/${two.user_id}?keep_keys=true`)
    const { status } = await service.request('GET', '/v1/stores', { key: kept.api_key })
    assert.equal(status, 200)
    const log = await owner.browser.ask('GET', '/v1/gcrumbs/breadcrumbs?limit=1000')
    const events = log.body.breadcrumbs
      .filter(({ subject }: { subject: string }) => subject === one.user_id)
      .map(({ event_type }: { event_type: string }) => event_type)
    assert.deepEqual(events.toSorted(), [
      'user.created',
      'user.joined',
      'user.removed',
      'user.signed_in',
    ])
    assert.ok(!log.text.includes('Ada') && !log.text.includes('example.com'))
  })

  test('people of another tenant are unknown, and the same address is another person', async () => {
    const [here, there] = [await ofOwner(), await ofOwner()]
    const path = `/v1/portal/users/${there.owner.user_id}`
    const change = await here.owner.browser.ask('PUT', path, { body: { name: 'x' } })
    assert.equal(codeOf(change), '404 user_not_found')
    assert.equal(codeOf(await here.owner.browser.ask('DELETE', path)), '404 user_not_found')
    const body = { email: 'same@example.com', roles: ['viewer'] }
    const made = [
      await bySession(here.tenant, here.owner.browser)(body),
      await bySession(there.tenant, there.owner.browser)(body),
    ]
    assert.deepEqual(
      made.map(({ status }) => status),
      [201, 201],
    )
    assert.notEqual(made[0]?.body.user.user_id, made[1]?.body.user.user_id)
    const foreign = await bySession(there.tenant, here.owner.browser)(body)
    assert.equal(codeOf(foreign), '404 tenant_not_found')
  })
})

describe('a person', () => {
  test('is one actor: what they asked for is approved under no key of theirs', async () => {
    const { tenant, owner } = await ofOwner()
    const ask = (browser: Browser, method: string, path: string, body?: object) =>
      browser.ask(method, `/v1${path}`, body === undefined ? {} : { body })
    await ask(owner.browser, 'POST', '/governance/policies', {
      name: 'ask first',
      policy_type: 'hitl_required',
      config: { operations: ['artifacts.register'] },
    })
    const proposed = await ask(owner.browser, 'POST', '/artifacts/register', {
      artifact_ref: 'models/one',
      base_model_ref: 'base/model',
      layers: [{ digest: service.kernel.ids.hex(32) }],
    })
    assert.equal(proposed.status, 202, proposed.text)
    const { request_id, artifact_id } = proposed.body.detail
    const shown = await ask(owner.browser, 'GET', `/hitl/requests/${request_id}`)
    assert.equal(shown.body.requested_by, owner.user_id)
    const { api_key } = (await ask(owner.browser, 'POST', '/keys', { class: 'tenant' })).body
    const path = `/v1/artifacts/${artifact_id}/approve`
    const body = { approver: 'somebody' }
    const own = await owner.browser.ask('POST', path, { body })
    assert.equal(codeOf(own), '403 self_approval')
    const underKey = await service.request('POST', path, { key: api_key, body })
    assert.equal(codeOf(underKey), '403 self_approval')
    const keyed = new Browser(service)
    await keyed.signIn(api_key)
    assert.equal(codeOf(await keyed.ask('POST', path, { body })), '403 self_approval')
    const grandchild = (await keyed.ask('POST', '/v1/keys', { body: { class: 'tenant' } })).body
    const under = await service.request('POST', path, { key: grandchild.api_key, body })
    assert.equal(codeOf(under), '403 self_approval')
    const rotate = `/cloud/tenants/${tenant.tenant_id}/rotate-key`
    const rotated = (await ask(owner.browser, 'POST', rotate)).body
    const replaced = await service.request('POST', path, { key: rotated.api_key, body })
    assert.equal(codeOf(replaced), '403 self_approval')
    const other = await enter(bySession(tenant, owner.browser), { roles: ['approver'] })
    const approved = await other.browser.ask('POST', path, { body })
    assert.equal(approved.status, 200, approved.text)
    const log = await ask(owner.browser, 'GET', '/gcrumbs/breadcrumbs?limit=1000')
    const decided = log.body.breadcrumbs.find(
      ({ event_type }: { event_type: string }) => event_type === 'approval.approved',
    )
    assert.equal(decided.payload.decided_by, other.user_id)
  })

  test('is found and redacted by a request of a data subject', async () => {
    const one = await subjectScene(service)
    const invite = byKey(one)
    const email = 'jana.novak@example.com'
    const jana = await enter(invite, { email, name: 'Jana', roles: ['viewer'] })
    const find = { text: email }
    const shown = await one.preview(find)
    assert.deepEqual(shown.found.kinds, [{ kind: 'user', texts: 1, held: 0 }])
    assert.ok(shown.searched.some((text: string) => text.includes('people')))
    await one.erase(find)
    const key = one.api_key
    const listed = await service.request('GET', '/v1/portal/users', { key })
    assert.ok(!listed.text.includes('jana') && !listed.text.includes('Jana'), listed.text)
    const path = `/v1/portal/users/${jana.user_id}`
    const renamed = await service.request('PUT', path, { key, body: { name: 'x' } })
    assert.equal(codeOf(renamed), '409 wrong_state')
    assert.equal((await jana.browser.ask('GET', '/v1/stores')).status, 200)
    assert.equal((await service.request('DELETE', path, { key })).status, 200)
  })
})
