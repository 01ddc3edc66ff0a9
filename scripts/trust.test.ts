// The page of results says what was run, and nothing else.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { trustPage } from './trust/page.ts'
import { added, type Result, readResults, replaced } from './trust/results.ts'
import { SWEEPS } from './trust/sweeps.ts'

const ROOT = join(import.meta.dirname, '..')
const held: Result = {
  form: 'long',
  outcome: 'held',
  date: '2026-01-02T03:04Z',
  commit: '0123456789ab',
  seconds: 12,
  machine: 'linux, 2 cores',
  counts: { kills: 1_234 },
}

test('every sweep has files of tests, and every result belongs to a sweep', () => {
  for (const { long, short } of SWEEPS)
    for (const path of [...long.files, ...(short?.files ?? [])])
      assert.ok(existsSync(join(ROOT, path)), path)
  const names = SWEEPS.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
  for (const name of Object.keys(readResults())) assert.ok(names.includes(name), name)
})

test('a sweep without a result is not run yet, and one that failed says so', () => {
  const none = trustPage({})
  assert.equal(none.match(/\| not run yet \|/g)?.length, SWEEPS.length)
  assert.doesNotMatch(none, /\bheld \|/)
  const page = trustPage({ kill: { ...held, outcome: 'failed' } })
  assert.match(page, /\*\*failed\*\* \| part \| 0 of 1,000 \| 2026-01-02/)
  assert.match(page, /\| kills \| 1,234 \|/)
})

test('a run is called long only with all rounds of the long form, short only in that of CI', () => {
  const rounds = (kills: number, form: Result['form'] = 'long') =>
    trustPage({ kill: { ...held, form, counts: { 'kills under load': kills } } })
  assert.match(rounds(999), /\(#kill\) \| held \| part \| 999 of 1,000 \| 2026/)
  assert.match(rounds(999), /\*\*held\*\* \(part, 999 of 1,000 rounds\), 2026/)
  assert.match(rounds(1_025), /\(#kill\) \| held \| long \| 1,025 of 1,000 \| 2026/)
  assert.match(rounds(3, 'short'), /\(#kill\) \| held \| short \| 3 of 1,000 \| 2026/)
  const others = trustPage({ model: held, tenants: held })
  assert.match(others, /\(#model\) \| held \| long \| – \| 2026/)
  assert.match(others, /\(#tenants\) \| held \| whole \| – \| 2026/)
  assert.match(others, /\*\*held\*\* \(whole\), 2026/)
})

test('the rounds of a sweep are those of its files, and what counts them is counted', () => {
  const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8')
  const results = readResults()
  for (const { name, round, long, short } of SWEEPS) {
    const takesRounds = long.files.some((path) => textOf(path).includes('longRounds('))
    assert.deepEqual([long.rounds !== undefined, round !== undefined], [takesRounds, takesRounds])
    if (round !== undefined && results[name]) assert.ok(results[name].counts[round], name)
    // What is called whole has no cases that only the long form runs.
    if (short === null)
      for (const path of long.files) assert.doesNotMatch(textOf(path), /\b(roundsOf|casesOf)\(/)
  }
})

test('a short run takes the place of a long one only when it fails', () => {
  const kept = { kill: held }
  assert.equal(replaced(kept, 'kill', { ...held, form: 'short' }), kept)
  const failed: Result = { ...held, form: 'short', outcome: 'failed' }
  assert.equal(replaced(kept, 'kill', failed)['kill'], failed)
  assert.equal(replaced({ kill: failed }, 'kill', held)['kill'], held)
})

test('runs in parts are added up while they hold; one that failed stays until replaced', () => {
  const once = added({ kill: held }, 'kill', { ...held, commit: 'fedcba987654', seconds: 8 })
  assert.deepEqual(once['kill'], {
    ...held,
    commit: '0123456789ab, fedcba987654',
    seconds: 20,
    counts: { kills: 2_468 },
    runs: 2,
  })
  assert.equal(added(once, 'kill', held)['kill']?.runs, 3)
  assert.match(trustPage(once), /the last of 2 runs added up/)
  const failed: Result = { ...held, outcome: 'failed' }
  assert.equal(added(once, 'kill', failed)['kill'], failed)
  assert.equal(added({ kill: failed }, 'kill', held)['kill'], failed)
  assert.equal(added({}, 'kill', held)['kill'], held)
})
