// The table of clusters: what it says is exact, and a wrong file is refused with one line.

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { assignTenant, clusterOf, parseClusters, readClusters } from './clusters.ts'

const CLUSTERS = [
  { name: 'one', url: 'https://one.example/' },
  { name: 'two', url: 'https://two.example' },
]

const parse = (file: unknown) => parseClusters(JSON.stringify(file))

test('a tenant has the cluster it is assigned to, every other one the default', () => {
  const table = parse({ clusters: CLUSTERS, tenants: { t1: 'two' }, default: 'one' })
  assert.equal(clusterOf(table, 't1').url, 'https://two.example')
  assert.equal(clusterOf(table, 't2').url, 'https://one.example')
  const none = parse({ clusters: CLUSTERS, tenants: { t1: 'two' } })
  assert.throws(() => clusterOf(none, 'toString'), /names no cluster for tenant toString/)
})

test('a table that could send a tenant to the wrong place is refused, and says why', () => {
  const [one, two] = CLUSTERS
  const cases: [unknown, RegExp][] = [
    [[], /an object for the file/],
    [{ clusters: [] }, /1 to 1000/],
    [{ clusters: CLUSTERS, tennants: {} }, /unknown member in the file: use clusters, tenants/],
    [{ clusters: [one, { ...two, name: 'one' }] }, /each name once/],
    [{ clusters: [one, { ...one, name: 'two' }] }, /each url once/],
    [{ clusters: [{ name: 'One', url: 'https://one.example' }] }, /a name of a-z/],
    [{ clusters: [{ name: 'one', url: 'ftp://one.example' }] }, /http or https/],
    [{ clusters: [{ name: 'one', url: 'https://user:word@one.example' }] }, /without credentials/],
    [{ clusters: CLUSTERS, default: 'three' }, /a cluster of the list as "default"/],
    [{ clusters: CLUSTERS, tenants: { t1: 'three' } }, /of the list for tenant t1/],
    [{ clusters: CLUSTERS, tenants: { 'a b': 'one' } }, /something else than a tenant id/],
    [{ clusters: CLUSTERS, tenants: ['t1'] }, /an object for "tenants"/],
  ]
  for (const [file, why] of cases) assert.throws(() => parse(file), why)
  assert.throws(() => parseClusters('{'), /must be a file with JSON/)
  const twice = JSON.stringify({ clusters: CLUSTERS }).replace(
    /}$/,
    ',"tenants":{"t1":"one","t1":"two"}}',
  )
  assert.throws(() => parseClusters(twice), /duplicate_key/)
  assert.throws(() => readClusters('/nowhere/clusters.json'), /a file that can be read/)
})

test('assigning a tenant replaces the file as a whole, with the rights that it had', () => {
  const dir = mkdtempSync(join(tmpdir(), 'custos-clusters-'))
  try {
    const path = join(dir, 'clusters.json')
    writeFileSync(path, JSON.stringify({ clusters: CLUSTERS, default: 'one' }), { mode: 0o640 })
    // What an interrupted run has left.
    writeFileSync(`${path}.new`, '{')
    assignTenant(path, 't1', 'two')
    assert.equal(clusterOf(readClusters(path), 't1').name, 'two')
    assert.equal(statSync(path).mode & 0o777, 0o640)
    const before = readFileSync(path, 'utf8')
    assert.throws(() => assignTenant(path, 't1', 'three'), /has no cluster three/)
    assert.equal(readFileSync(path, 'utf8'), before)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})
