// The bill of materials (`npm run sbom`): every package that runs in production, and no other.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { ROOT, readPage } from './testing/page.ts'

interface LockedPackage {
  readonly version?: string
  readonly license?: string
  readonly dev?: boolean
  readonly devOptional?: boolean
  readonly optional?: boolean
  readonly link?: boolean
  readonly resolved?: string
}

interface Component {
  readonly name: string
  readonly version: string
  readonly hashes?: readonly unknown[]
  readonly licenses?: readonly { license?: { id?: string; name?: string }; expression?: string }[]
}

const LOCK: Readonly<Record<string, LockedPackage>> = JSON.parse(
  readPage('package-lock.json'),
).packages
/** What is installed from elsewhere, not from this repository. */
const FOREIGN = Object.entries(LOCK).filter(
  ([path, { link }]) => path.includes('node_modules/') && !link,
)
const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 13)

function componentsOf(): Component[] {
  const path = `${dirname(process.execPath)}:${process.env['PATH']}`
  const { stdout, stderr } = spawnSync('npm', ['run', '--silent', 'sbom'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    env: { ...process.env, PATH: path },
  })
  assert.ok(stdout.startsWith('{'), stderr)
  return JSON.parse(stdout).components
}

test('the bill of materials lists the packages of production, each with its licence', () => {
  const components = componentsOf()
  const foreign = components.filter(({ name }) => !name.startsWith('@custos/'))
  const listed = foreign.map(({ name, version }) => `${name}@${version}`)
  const needed = FOREIGN.filter(([, { dev, devOptional, optional }]) =>
    [dev, devOptional, optional].every((one) => !one),
  ).map(([path, { version }]) => `${nameOf(path)}@${version}`)
  assert.ok(needed.length > 50)
  assert.deepEqual(
    needed.filter((one) => !listed.includes(one)),
    [],
    'in the lockfile, and not listed',
  )
  assert.deepEqual(
    listed.filter((one) => !needed.includes(one)),
    [],
    'listed, and not of production',
  )
  for (const { name, licenses = [], hashes = [] } of foreign) {
    const named = licenses.some(({ license, expression }) => expression ?? license?.id)
    assert.ok(named, `${name} has no licence`)
    assert.ok(hashes.length > 0, `${name} has no hash`)
  }
  const own = components.filter(({ name }) => name.startsWith('@custos/'))
  assert.ok(own.some(({ name }) => name === '@custos/server'))
})

test('no file of the repository names the host that packages were fetched from', () => {
  for (const [path, { resolved }] of Object.entries(LOCK))
    assert.ok(resolved === undefined || !/^https?:/.test(resolved), path)
  for (const host of [
    ['registry', 'npmjs', 'org'],
    ['files', 'pythonhosted', 'org'],
  ]) {
    const { stdout } = spawnSync('git', ['grep', '-lF', host.join('.')], {
      cwd: ROOT,
      encoding: 'utf8',
    })
    assert.equal(stdout, '')
  }
})
