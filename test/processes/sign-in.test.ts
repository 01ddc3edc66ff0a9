// A sign-in through a certified provider, over four processes on one PostgreSQL.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { withPostgres } from '../../packages/server/src/platform/db/postgres/connection.ts'
import {
  CLIENT,
  ProviderVisit,
  startOpenIdProvider,
} from '../../packages/server/src/slices/identity/testing/open-id-provider.ts'
import { writeTestCertificate } from '../../packages/server/src/slices/webhooks/testing/scene.ts'
import { type Client, createTenant } from '../crash/testing/client.ts'
import { OPERATOR_KEY, type ServerProcess } from '../crash/testing/server-process.ts'
import { tempDirectory } from '../crash/testing/temp-directory.ts'
import { at, clientsOf, MASTER_KEY, openFleet } from './testing/fleet.ts'
import { openRoundRobin } from './testing/round-robin.ts'

const PROCESSES = 4
const RIVALS = 100
const LOGIN = 'canary-ana'
const GROUP = 'canary-group'

const cookieOf = (response: Response, name: string): string =>
  response.headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0] ?? '')
    .find((pair) => pair.startsWith(`${name}=`)) ?? ''

/** Four processes, a provider, and a tenant that is connected to it. */
async function openSignIns(t: TestContext) {
  // What a load balancer is to browsers and to the provider.
  const entrance = await openRoundRobin([])
  t.after(() => entrance.close())
  const fleet = await openFleet(t, {
    CUSTOS_PUBLIC_URL: entrance.url,
    CUSTOS_EGRESS_ALLOW: '127.0.0.1,localhost',
    CUSTOS_LOG_LEVEL: 'debug',
    NODE_EXTRA_CA_CERTS: writeTestCertificate(join(tempDirectory(t), 'provider.pem')),
  })
  const servers = await fleet.start(PROCESSES)
  entrance.targets = servers.map(({ url }) => url)
  const provider = await startOpenIdProvider(t)
  provider.groups.set(LOGIN, [GROUP])
  const { api_key } = await createTenant(at(servers, 0))
  const clients = clientsOf(servers, api_key)
  const body = {
    ...CLIENT,
    name: 'Provider',
    issuer: provider.issuer,
    scopes: ['email', 'profile', 'groups'],
    role_claim: ['groups'],
    role_map: [{ value: GROUP, role: 'auditor' }],
    create_users: true,
  }
  const made = await at(clients, 0).ok('POST', '/v1/portal/sso/connections', { body })
  await provider.register(made)
  assert.equal(new URL(made.redirect_uri).origin, entrance.url)
  const path = `/v1/portal/sso/authorize?connection_id=${made.connection_id}`
  return { fleet, servers, clients, provider, path, secrets: new Set([api_key]) }
}

type SignIns = Awaited<ReturnType<typeof openSignIns>>

/** Begins at a process and signs in at the provider: what the browser then brings back. */
async function begin({ path, secrets }: SignIns, server: ServerProcess) {
  const led = await fetch(`${server.url}${path}`, { redirect: 'manual' })
  assert.equal(led.status, 302)
  const cookie = cookieOf(led, 'custos_login')
  const location = led.headers.get('location') ?? ''
  const visit = new ProviderVisit(LOGIN)
  const back = new URL(await visit.follow(location))
  for (const name of ['state', 'nonce']) keep(secrets, new URL(location).searchParams.get(name))
  keep(secrets, back.searchParams.get('code'))
  keep(secrets, cookie.split('=')[1])
  return { visit, cookie, callback: `${back.pathname}${back.search}` }
}

function keep(secrets: Set<string>, secret: string | null | undefined): void {
  assert.ok(secret !== null && secret !== undefined && secret.length >= 20, secret ?? 'none')
  secrets.add(secret)
}

async function finish(
  { secrets }: SignIns,
  { url }: ServerProcess,
  { cookie, callback }: { readonly cookie: string; readonly callback: string },
) {
  const answer = await fetch(`${url}${callback}`, { redirect: 'manual', headers: { cookie } })
  const text = await answer.text()
  const session = cookieOf(answer, 'custos_session')
  if (session !== '') keep(secrets, session.split('=')[1])
  const error = answer.status === 302 ? '' : String(JSON.parse(text).error)
  // Without a session where it was refused.
  return { status: answer.status, error, cookie: session }
}

/** What each process says of the session. */
async function statuses(servers: readonly ServerProcess[], cookie: string): Promise<number[]> {
  const ask = async ({ url }: ServerProcess) =>
    (await fetch(`${url}/v1/portal/me`, { headers: { cookie } })).status
  return Promise.all(servers.map(ask))
}

const sessionsAt = async (client: Client): Promise<{ session_id: string }[]> =>
  (await client.ok('GET', '/v1/portal/sessions')).sessions

const everywhere = (status: number): number[] => Array(PROCESSES).fill(status)

async function revokedAtAThird(scene: SignIns) {
  const { servers, clients, secrets } = scene
  const begun = await begin(scene, at(servers, 0))
  const entered = await finish(scene, at(servers, 1), begun)
  assert.equal(entered.status, 302, entered.error)
  assert.deepEqual(await statuses(servers, entered.cookie), everywhere(200))
  const headers = { cookie: entered.cookie }
  const me = await (await fetch(`${at(servers, 3).url}/v1/portal/me`, { headers })).json()
  const { user, csrf_token } = me as { user: { roles: string[] }; csrf_token: string }
  assert.deepEqual(user.roles, ['auditor'])
  keep(secrets, csrf_token)
  const [session, ...others] = await sessionsAt(at(clients, 3))
  assert.ok(session && others.length === 0)
  await at(clients, 2).ok('DELETE', `/v1/portal/sessions/${session.session_id}`)
  assert.deepEqual(await statuses(servers, entered.cookie), everywhere(401))
}

async function onceOfAHundred(scene: SignIns) {
  const { servers, clients } = scene
  const begun = await begin(scene, at(servers, 3))
  const answers = await Promise.all(
    Array.from({ length: RIVALS }, (_, i) => finish(scene, at(servers, i % PROCESSES), begun)),
  )
  const entered = answers.filter(({ status }) => status === 302)
  assert.equal(entered.length, 1)
  assert.equal(answers.filter(({ cookie }) => cookie !== '').length, 1)
  assert.equal(answers.filter(({ error }) => error === 'login_expired').length, RIVALS - 1)
  assert.equal((await sessionsAt(at(clients, 0))).length, 1)
  return { cookie: entered[0]?.cookie ?? '', visit: begun.visit }
}

async function endedByTheProvider(
  { servers, provider }: SignIns,
  { cookie, visit }: Awaited<ReturnType<typeof onceOfAHundred>>,
) {
  assert.deepEqual(await statuses(servers, cookie), everywhere(200))
  await visit.signOut(provider.issuer)
  for (let tries = 0; tries < 500; tries += 1) {
    if (!(await statuses(servers, cookie)).includes(200)) break
    await delay(10)
  }
  assert.deepEqual(await statuses(servers, cookie), everywhere(401))
}

async function outlivesItsProcesses(scene: SignIns) {
  const [one, two, ...others] = scene.servers
  assert.ok(one && two)
  const begun = await begin(scene, one)
  await one.killed()
  const entered = await finish(scene, two, begun)
  assert.equal(entered.status, 302, entered.error)
  await two.killed()
  assert.deepEqual(await statuses(others, entered.cookie), [200, 200])
  return entered.cookie
}

/** Each row of each table, as text. */
async function dump(database_url: string): Promise<string> {
  return withPostgres(database_url, async (admin) => {
    const named = `select table_schema, table_name from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`
    let text = ''
    for (const { table_schema, table_name } of (await admin.query({ sql: named }, [])).rows) {
      const sql = `select t::text as line from "${table_schema}"."${table_name}" t`
      const { rows } = await admin.query({ sql }, [])
      text += `${table_name}\n${rows.map(({ line }) => line).join('\n')}\n`
    }
    return text
  })
}

/** Neither the text nor its bytes, which PostgreSQL writes in hexadecimal. */
function assertAbsent(text: string, secrets: ReadonlySet<string>): void {
  for (const secret of secrets) {
    const forms = [secret, Buffer.from(secret).toString('hex'), encodeURIComponent(secret)]
    for (const form of forms) assert.ok(!text.includes(form), `${secret} is there in clear`)
  }
}

test('a sign-in is one at four processes, and ends at all of them', async (t) => {
  const scene = await openSignIns(t)
  const { servers, provider, secrets, fleet } = scene
  await t.test('begun at one, taken at another, revoked at a third: refused at all', () =>
    revokedAtAThird(scene),
  )
  await t.test('of 100 callbacks with one state, over all of them, one gets a session', async () =>
    endedByTheProvider(scene, await onceOfAHundred(scene)),
  )
  let lasting = ''
  await t.test('it goes on when the processes die where it began and was taken', async () => {
    lasting = await outlivesItsProcesses(scene)
  })
  await t.test('no token, code, cookie, address or key is in a log line or a table', async () => {
    // Three sign-ins with an ID token and an access token each, and a logout token.
    assert.ok(provider.issued.length >= 7, String(provider.issued.length))
    for (const token of provider.issued) keep(secrets, token)
    const words = [LOGIN, GROUP, `${LOGIN}@corp.example`, CLIENT.client_secret]
    for (const word of [...words, OPERATOR_KEY, MASTER_KEY]) secrets.add(word)
    for (const { output } of servers) {
      assert.match(output, /"operation":"identity\.(authorize|callback)"/)
      assertAbsent(output, secrets)
    }
    const kept = await dump(fleet.database_url)
    // It is what there is instead of a session's token.
    assert.ok(kept.includes(hash('sha256', lasting.split('=')[1] ?? '', 'hex')))
    assertAbsent(kept, secrets)
  })
})
