// The badge: what each rate says, in which colour and how wide.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { badgeJson, badgeSvg } from './badge.ts'

const CASES: readonly (readonly [number | null, string, string, string])[] = [
  [null, 'not audited', 'lightgrey', '#9e9e9e'],
  [1_000_000, 'M8: 1.000 | PASS', 'brightgreen', '#4c1'],
  [950_000, 'M8: 0.950 | PASS', 'brightgreen', '#4c1'],
  [949_999, 'M8: 0.949 | FAIL', 'red', '#e05d44'],
  [857_143, 'M8: 0.857 | FAIL', 'red', '#e05d44'],
  [0, 'M8: 0.000 | FAIL', 'red', '#e05d44'],
]

for (const [rate, message, color, fill] of CASES)
  test(`a rate of ${rate} reads ${message}`, () => {
    assert.deepEqual(badgeJson(rate), { schemaVersion: 1, label: 'GMP v0.2', message, color })
    const svg = badgeSvg(rate)
    const right = 7 * message.length + 10
    assert.match(svg, new RegExp(`^<svg [^>]*width="${62 + right}" height="20" role="img"`))
    assert.ok(svg.includes(`aria-label="GMP v0.2: ${message}"`))
    assert.ok(svg.includes(`<rect x="62" width="${right}" height="20" fill="${fill}"/>`))
    assert.ok(svg.includes('<rect width="62" height="20" fill="#555"/>'))
  })

test('a rate just below the border is not shown as one that reaches it', () => {
  assert.equal(badgeJson(949_600).message, 'M8: 0.949 | FAIL')
})
