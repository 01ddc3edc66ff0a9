// Tests of faults: each in front of one service, with the whole suite run against it.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ConformanceResult, GMP_CAPABILITIES, runConformance } from '@custos/conformance'
import {
  startTestService,
  type TestService,
} from '../../../../packages/server/src/testing/harness.ts'
import { faultsOfSeven, faultsOfTen, type NamedFault } from './faults.ts'
import { declaringAll, type Fault, faultyFetch } from './faulty.ts'

/** One test for each fault that is wanted: what must fail fails, and nothing else does. */
export function judgeFaults(wanted: (fault: NamedFault, all: readonly NamedFault[]) => boolean) {
  // Keys are read when a fault is at work: they are known only once the service runs.
  const keys = { own: '', other: '' }
  let service: TestService
  before(async () => {
    service = await startTestService()
    keys.own = (await service.createTenant('conformance')).api_key
    keys.other = (await service.createTenant('another')).api_key
  })
  after(() => service.stop())
  const judge = (fault: Fault) =>
    runConformance({
      url: service.url,
      api_key: keys.own,
      other_api_key: keys.other,
      measure: false,
      fetch: faultyFetch(fault),
    })

  const seven = faultsOfSeven(keys)
  for (const named of seven.filter((fault) => wanted(fault, seven)))
    test(`a server that ${named.fault} fails in ${named.fails.join(', ')} alone`, async () => {
      assertFails(await judge(named.make()), named.fails, 7)
    })
  for (const named of faultsOfTen.filter((fault) => wanted(fault, faultsOfTen)))
    test(`of all ten, one that ${named.fault}: ${named.fails.join() || 'all pass'}`, async () => {
      assertFails(await judge(declaringAll(GMP_CAPABILITIES, named.make())), named.fails, 10)
    })
  return [...seven, ...faultsOfTen]
}

function assertFails(result: ConformanceResult, fails: readonly string[], tested: number): void {
  const failed = result.capabilities.filter(({ verdict }) => verdict === 'fail')
  const names = failed.map(({ capability }) => capability)
  assert.deepEqual(names, fails, JSON.stringify(result.capabilities, null, 1))
  assert.deepEqual([result.tested, result.passed], [tested, tested - fails.length])
  for (const { verdict, reason, checks } of result.capabilities) {
    assert.equal(verdict === 'pass', reason === null)
    // A failure says what was expected, and nothing of what was written.
    for (const { detail } of checks) assert.doesNotMatch(detail, /lives in|works at|owns|speaks/)
  }
}
