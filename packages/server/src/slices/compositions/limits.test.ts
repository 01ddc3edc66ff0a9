// The limits of a composition, and of what a list shows of it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  COMPOSITION_LICENSES_BYTES_MAX,
  COMPOSITION_SIGNED_BYTES_MAX,
  LICENSE_CHARS_MAX,
  LISTED_COMPOSITION_BYTES_MAX,
} from '@custos/contract'
import { member, openCompositionScene } from './testing/composition-scene.ts'

const scene = openCompositionScene()
const { ok, governed, rejected, corpus } = scene

/** Words of this length that are no licence. */
const words = (length: number): string => 'w w'.padEnd(length, 'w')

test('the licences of one composition have 64 KiB at most, together', async () => {
  const count = Math.floor(COMPOSITION_LICENSES_BYTES_MAX / LICENSE_CHARS_MAX)
  const rest = COMPOSITION_LICENSES_BYTES_MAX - count * LICENSE_CHARS_MAX
  const full = Array.from({ length: count }, (_, i) => member(`m-${i}`, words(LICENSE_CHARS_MAX)))
  await governed({ members: [...full, member('rest', words(rest))] })
  const { reasons } = await rejected({ members: [...full, member('rest', words(rest + 1))] })
  assert.deepEqual(reasons, ['the licences have more than 65536 bytes together'])
  assert.deepEqual(await ok('GET', '/compositions/stats'), { governed: 1 })
})

/** Licences of 64 alternatives, each of which repeats what applies to all. */
function swollen(count: number) {
  const pairs = ['MIT OR ISC', 'Zlib OR X11', '0BSD OR curl', 'NCSA OR JSON', 'TCL OR SL']
  const choice = [...pairs, 'AFL-1.1 OR AFL-1.2'].map((pair) => `(${pair})`).join(' AND ')
  return Array.from({ length: count }, (_, i) => {
    const common = Array.from({ length: 40 }, (_, j) => `LicenseRef-${i}-${j}`).join(' AND ')
    return member(`m-${i}`, `${choice} AND ${common}`)
  })
}

test('a signed record has 256 KiB at most, and nothing is stored of a larger one', async () => {
  const row = await governed({ members: swollen(4) })
  assert.ok(JSON.stringify(row.document.members).length < COMPOSITION_SIGNED_BYTES_MAX)
  const { reasons } = await rejected({ members: swollen(60) })
  assert.match(reasons.join(), /would be more than 262144 bytes in the signed record/)
  assert.deepEqual(await ok('GET', '/compositions/stats'), { governed: 1 })
})

test('a verdict that names many members for many licences counts as well', async () => {
  const license = ['a', 'b', 'c', 'd', 'e', 'f'].map((word) => `LicenseRef-${word}`).join(' AND ')
  const named = (length: number) =>
    Array.from({ length: 200 }, (_, i) => member(`${i}`.padEnd(length, 'm'), license))
  await governed({ members: named(100) })
  const { reasons } = await rejected({ members: named(250) })
  assert.match(reasons.join(), /would be more than 262144 bytes in the signed record/)
})

test('the licences that records state are bounded as well', async () => {
  const sources = Array.from({ length: 40 }, (_, i) => ({
    ...{ id: `s-${i}`, license: `${i} ${words(1_900)}` },
  }))
  const { corpus_id } = await corpus(sources)
  const { reasons } = await rejected({ members: [member(corpus_id)] })
  assert.match(reasons.join(), /the licences that the members found state have more than 65536/)
})

test('a list shows the row of a large composition, without document and members', async () => {
  const small = await governed()
  const large = await governed({ members: swollen(4), target_ref: 'large' })
  assert.ok(JSON.stringify(large.document).length > LISTED_COMPOSITION_BYTES_MAX)
  const { compositions } = await ok('GET', '/compositions')
  const listed = { ...large, document: null, license_verdict: null, members: [] }
  assert.deepEqual(compositions, [listed, small])
  assert.deepEqual(await ok('GET', `/compositions/${large.composition_id}`), large)
})
