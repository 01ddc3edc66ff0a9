// The setup of docs/operating/postgresql.md, run as it is written on servers of its own.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { withPostgres } from '../../packages/server/src/platform/db/postgres/connection.ts'
import { type Cluster, startCluster } from '../../packages/server/src/testing/postgres-cluster.ts'
import { blocksOf, ROOT, readPage } from './testing/page.ts'

const CLI = join(ROOT, 'packages', 'cli', 'bin', 'custos.js')
const [roles = '', keyring = '', guest = ''] = blocksOf(readPage('docs/operating/postgresql.md'))
  .filter(({ language }) => language === 'sql')
  .map((block) => block.text)

let data: Cluster
let keys: Cluster

before(async () => {
  data = await startCluster()
  keys = await startCluster()
  await run(data.url, roles)
  await run(keys.url, keyring)
})

after(async () => {
  await data?.stop()
  await keys?.stop()
})

/** One statement at a time: a database is not made inside a transaction. */
const run = (url: string, sql: string): Promise<void> =>
  withPostgres(url, async (connection) => {
    for (const statement of sql.split(';\n')) await connection.step(statement)
  })

function urlOf(cluster: Cluster, role: string, database: string): string {
  const url = new URL(cluster.url)
  const password = new RegExp(`create role ${role} login password '([^']+)'`).exec(roles + keyring)
  Object.assign(url, { username: role, password: password?.[1] ?? '', pathname: `/${database}` })
  return url.href
}

const master_key = randomBytes(32).toString('hex')

function custos(command: string, role: string, keyring_url: string): ChildProcess {
  return spawn(process.execPath, [CLI, command], {
    env: {
      ...process.env,
      CUSTOS_DATABASE_URL: urlOf(data, role, 'custos'),
      CUSTOS_KEYRING_URL: keyring_url,
      CUSTOS_MASTER_KEY: master_key,
      CUSTOS_REWRITE_HOURS: '0',
      CUSTOS_PORT: '0',
      CUSTOS_LOG_LEVEL: 'silent',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Exit status and everything it printed. */
async function ended(child: ChildProcess): Promise<{ status: unknown; output: string }> {
  const [[status], ...output] = await Promise.all([
    once(child, 'exit'),
    ...[child.stdout, child.stderr].map((pipe) => (pipe ? text(pipe) : '')),
  ])
  return { status, output: output.join('') }
}

/** Serves until `use` is done with its URL. */
async function serving(child: ChildProcess, use: (url: string) => Promise<void>): Promise<void> {
  const end = once(child, 'exit')
  try {
    let output = ''
    for await (const chunk of child.stdout ?? []) {
      output += chunk
      const url = /http:\/\/\S+/.exec(output)?.[0]
      if (url) return await use(url)
    }
    assert.fail(output)
  } finally {
    child.kill('SIGTERM')
    await end
  }
}

async function writeOne(url: string): Promise<void> {
  const answer = await fetch(`${url}/v1/stores/default/write`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ content: 'The clinic opens at eight.' }),
  })
  assert.equal(answer.status, 200)
}

test('the roles of the page migrate and serve; who serves makes and sees nothing', async () => {
  const keyring_url = urlOf(keys, 'custos_keyring', 'custos_keyring')
  const early = await ended(custos('serve', 'custos_service', keyring_url))
  assert.equal(early.status, 1)
  assert.match(early.output, /custos migrate/)

  const migrated = await ended(custos('migrate', 'custos_owner', keyring_url))
  assert.equal(migrated.status, 0, migrated.output)

  await serving(custos('serve', 'custos_service', keyring_url), writeOne)
  await withPostgres(urlOf(data, 'custos_service', 'custos'), async (connection) => {
    await assert.rejects(connection.step('create table mine (n int)'), { code: '42501' })
    await connection.step('rollback')
    const { rows } = await connection.query({ sql: 'select count(*) as seen from facts' }, [])
    assert.equal(rows[0].seen, 0)
  })
})

test('with the grants of the page another login serves the keyring', async () => {
  await run(keys.url, "create role some_login login password 'choose-a-third'")
  const owner = urlOf(keys, 'custos_keyring', 'custos_keyring')
  await run(owner, guest)
  const url = new URL(owner)
  url.username = 'some_login'
  await serving(custos('serve', 'custos_service', url.href), writeOne)
})
