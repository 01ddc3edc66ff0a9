// Succession of keys: order, dates, forks, cycles, claims on the keys of others.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Json, JsonObject } from '../core/canonical.ts'
import { toHex } from '../core/encoding.ts'
import { findPublicVectors, readJson, readVector, seededKey } from '../testing/fixtures.ts'
import {
  chainOf,
  checkRotation,
  type RotationLink,
  readRotation,
  resolveRotations,
  rotationBytes,
  standingOf,
} from './rotation.ts'

const LATER = '2027-01-01T00:00:00Z'
const keyOf = (byte: number): string => toHex(seededKey(byte).publicKey)
const [A, B, C, D, E] = [0x71, 0x72, 0x73, 0x74, 0x75]

/** `from` names `to` its successor; both are bytes of seeds. */
function link(from: number, to: number, seq: number, not_before = ''): RotationLink {
  const body = { prev_key: keyOf(from), new_key: keyOf(to), seq, not_before }
  return { ...body, sig: toHex(seededKey(from).sign(rotationBytes(body))) }
}

/** The same, and `to` agrees. */
function agreed(from: number, to: number, seq: number, not_before = ''): RotationLink {
  const one = link(from, to, seq, not_before)
  return { ...one, new_sig: toHex(seededKey(to).sign(rotationBytes(one))) }
}

/** The anchor of each key, and the problems of what was refused. */
async function resolved(links: readonly unknown[], at = LATER) {
  const rotations = await resolveRotations(links, at)
  const anchor = (byte: number) => chainOf(rotations, keyOf(byte)).anchor
  const frozen = (byte: number) => chainOf(rotations, keyOf(byte)).frozen
  return { rotations, anchor, frozen, problems: rotations.refused.map(({ problem }) => problem) }
}

test('vectors: bodies and signatures of two links, and the chain they make', async () => {
  type Vectors = { rotations: { body: string; link: JsonObject & RotationLink }[] }
  const { rotations } = readVector<Vectors>('reputation-identity.json')
  for (const { body, link } of rotations) {
    assert.equal(new TextDecoder().decode(rotationBytes(link)), body)
    assert.deepEqual(await readRotation(link), link)
  }
  const links = rotations.map(({ link }) => link)
  const [first, second] = links
  assert.ok(first !== undefined && second !== undefined)
  const chain = chainOf(await resolveRotations(links, LATER), second.new_key)
  assert.equal(chain.anchor, first.prev_key)
  assert.equal(chain.current, second.new_key)
  assert.equal(chain.frozen, null)
  assert.equal(chain.links.length, 2)
})

test('the published chain verifies and leads to the published did', async (t) => {
  const folder = findPublicVectors('reference')
  if (folder === null) return void t.diagnostic('no public vectors beside the project')
  type Fixture = {
    anchor_key: string
    current_key: string
    subject_did: string
    proofs: (JsonObject & RotationLink)[]
    canonical_link_bodies_utf8: string[]
  }
  const fixture = readJson<Fixture>(join(folder, 'cgr_rotation_chain_jcs.golden.json'))
  const bodies = fixture.proofs.map((proof) => new TextDecoder().decode(rotationBytes(proof)))
  assert.deepEqual(bodies, fixture.canonical_link_bodies_utf8)
  const { anchor, current, subject_did } = chainOf(
    await resolveRotations(fixture.proofs, LATER),
    fixture.current_key,
  )
  assert.equal(anchor, fixture.anchor_key)
  assert.equal(current, fixture.current_key)
  assert.equal(subject_did, fixture.subject_did)
})

test('a link without a date is signed with the empty one', async () => {
  const { not_before: _, ...undated } = link(A, B, 1)
  for (const one of [undated, { ...undated, not_before: null }])
    assert.equal((await resolved([one])).anchor(B), keyOf(A))
})

const BROKEN: Readonly<Record<string, Json>> = {
  'another successor': { ...link(A, B, 1), new_key: keyOf(C) },
  'another place': { ...link(A, B, 1), seq: 2 },
  'another date': { ...link(A, B, 1), not_before: '2026-01-01T00:00:00Z' },
  'a signature by the successor': { ...link(A, B, 1), sig: agreed(A, B, 1).new_sig ?? '' },
  'a consent by somebody else': { ...link(A, B, 1), new_sig: link(A, B, 1).sig },
}
for (const [about, value] of Object.entries(BROKEN))
  test(`a link with ${about} folds nothing`, async () => {
    const { anchor, problems } = await resolved([value])
    assert.deepEqual(problems, ['signature'])
    assert.equal(anchor(B), keyOf(B))
  })

test('what is no link is refused, never thrown', async () => {
  const good = link(A, B, 1)
  const bad = [
    ...[null, 7, [], {}, 'text'],
    ...[
      { ...good, seq: 0 },
      { ...good, seq: 1.5 },
      { ...good, not_before: 'soon' },
    ],
    ...[
      { ...good, prev_key: '00'.repeat(32) },
      { ...good, sig: null },
    ],
  ]
  const { problems } = await resolved(bad)
  assert.deepEqual(
    problems,
    bad.map(() => 'malformed'),
  )
  assert.equal((await resolveRotations([good], 'no time')).chains.has(keyOf(B)), true)
  const dated = link(A, B, 1, '2026-01-01T00:00:00Z')
  assert.equal((await resolveRotations([dated], 'no time')).chains.has(keyOf(B)), false)
})

test('every link stands at its place: gaps and repeated places fold nothing', async () => {
  const gap = await resolved([link(A, B, 1), link(B, C, 3)])
  assert.deepEqual([gap.anchor(B), gap.anchor(C)], [keyOf(A), keyOf(C)])
  assert.deepEqual(gap.problems, ['order'])
  const repeated = await resolved([link(A, B, 1), link(B, C, 1)])
  assert.equal(repeated.anchor(C) === keyOf(A), false)
  assert.deepEqual((await resolved([link(A, B, 2)])).problems, ['order'])
})

test('dates never go back, and a link stands only from its date', async () => {
  const [march, april] = ['2026-03-01T00:00:00Z', '2026-04-01T00:00:00Z']
  const back = await resolved([link(A, B, 1, april), link(B, C, 2, march)])
  assert.deepEqual(back.problems, ['date'])
  assert.deepEqual([back.anchor(B), back.anchor(C)], [keyOf(A), keyOf(C)])
  const links = [link(A, B, 1, march), link(B, C, 2, april)]
  const before = await resolved(links, '2026-03-31T23:59:59.999999Z')
  assert.deepEqual(before.problems, ['not_yet'])
  assert.equal(chainOf(before.rotations, keyOf(A)).current, keyOf(B))
  assert.equal(chainOf((await resolved(links, april)).rotations, keyOf(A)).current, keyOf(C))
})

test('a key stands from its date until its successor does', async () => {
  const [march, april] = ['2026-03-01T00:00:00Z', '2026-04-01T00:00:00Z']
  const { rotations } = await resolved([link(A, B, 1, march), link(B, C, 2, april)])
  const chain = chainOf(rotations, keyOf(A))
  const standing = (byte: number, at: string) => standingOf(chain, keyOf(byte), at)
  assert.equal(standing(A, '2026-02-28T00:00:00Z'), 'current')
  assert.equal(standing(A, march), 'retired')
  assert.equal(standing(B, '2026-02-28T00:00:00Z'), 'not_yet')
  assert.equal(standing(B, march), 'current')
  assert.equal(standing(B, april), 'retired')
  assert.equal(standing(C, LATER), 'current')
})

test('a fork freezes: neither successor is believed, the key before it stays', async () => {
  const { anchor, frozen, problems } = await resolved([
    link(A, B, 1),
    link(B, C, 2),
    link(B, D, 2),
    link(C, E, 3),
  ])
  assert.deepEqual([anchor(B), anchor(C), anchor(D)], [keyOf(A), keyOf(C), keyOf(D)])
  assert.equal(frozen(A), 'fork')
  assert.deepEqual(problems.sort(), ['fork', 'fork', 'order'])
})

test('the same successor named twice is no fork: the earlier date that fits holds', async () => {
  const [march, april] = ['2026-03-01T00:00:00Z', '2026-04-01T00:00:00Z']
  const twice = [link(A, B, 1, april), link(A, B, 1, march), link(A, B, 1, march)]
  const { rotations, frozen } = await resolved(twice)
  assert.equal(chainOf(rotations, keyOf(A)).links[0]?.not_before, march)
  assert.equal(frozen(A), null)
})

test('cycles are refused where they close', async () => {
  const closed = await resolved([link(A, B, 1), link(B, C, 2), link(C, A, 3)])
  assert.deepEqual(closed.problems, ['cycle'])
  assert.deepEqual([closed.anchor(C), closed.frozen(C)], [keyOf(A), 'cycle'])
  const self = await resolved([link(A, A, 1)])
  assert.deepEqual([self.problems, self.frozen(A)], [['cycle'], 'cycle'])
  const pure = await resolved([link(A, B, 1), link(B, A, 1)])
  assert.deepEqual([pure.anchor(A), pure.anchor(B)], [keyOf(A), keyOf(B)])
})

test('nobody takes the key of another into a chain without its consent', async () => {
  // D claims the first key of a chain: the chain stays.
  const first = await resolved([link(A, B, 1), link(B, C, 2), link(D, A, 1)])
  assert.deepEqual([first.anchor(C), first.anchor(D)], [keyOf(A), keyOf(D)])
  assert.equal(first.problems[0], 'merge')
  // D claims the key in use: nothing tells whose it is, both chains end before it.
  const disputed = await resolved([link(A, B, 1), link(D, B, 1)])
  assert.deepEqual([disputed.anchor(B), disputed.frozen(A)], [keyOf(B), 'merge'])
  // With the consent of that key, or when it has gone on from its place, it is told.
  const consented = await resolved([agreed(A, B, 1), link(D, B, 1)])
  assert.deepEqual([consented.anchor(B), consented.frozen(D)], [keyOf(A), 'merge'])
  const going = await resolved([link(A, B, 1), link(B, C, 2), link(D, E, 1), link(E, B, 2)])
  assert.deepEqual([going.anchor(C), going.frozen(D)], [keyOf(A), 'merge'])
})

test('a first link by a key that already follows another starts no chain', async () => {
  const { anchor, problems } = await resolved([agreed(A, B, 1), link(B, C, 1)])
  assert.deepEqual([anchor(B), anchor(C)], [keyOf(A), keyOf(C)])
  assert.deepEqual(problems, ['order'])
})

test('the order in which links come never matters', async () => {
  const links = [
    ...[link(A, B, 1), link(B, C, 2), agreed(C, D, 3), link(D, A, 4), link(E, D, 1)],
    ...[link(B, E, 3), link(A, B, 1, '2026-01-01T00:00:00Z'), link(E, E, 2)],
  ]
  const shape = async (given: readonly unknown[]) => {
    const { rotations } = await resolved(given)
    return JSON.stringify([
      [...rotations.chains].sort(),
      rotations.refused.map((one) => JSON.stringify(one)).sort(),
    ])
  }
  const subsets = fc
    .shuffledSubarray(links)
    .chain((some) =>
      fc.tuple(fc.constant(some), fc.shuffledSubarray(some, { minLength: some.length })),
    )
  await fc.assert(
    fc.asyncProperty(subsets, async ([some, shuffled]) => {
      assert.equal(await shape(shuffled), await shape(some))
    }),
    { numRuns: 60 },
  )
})

test('what a new link would do is told before it is recorded', async () => {
  const links = [link(A, B, 1, '2026-03-01T00:00:00Z')]
  const checkAtLater = (one: unknown) => checkRotation(one, links, LATER)
  assert.equal(await checkAtLater(link(B, C, 2, '2026-04-01T00:00:00Z')), null)
  assert.equal(await checkAtLater(links[0]), null)
  assert.equal(await checkAtLater(link(A, C, 1)), 'fork')
  assert.equal(await checkAtLater(link(B, C, 3)), 'order')
  assert.equal(await checkAtLater(link(B, C, 2, '2026-02-01T00:00:00Z')), 'date')
  assert.equal(await checkAtLater(link(B, C, 2, '2028-02-01T00:00:00Z')), 'not_yet')
  assert.equal(await checkAtLater(link(B, A, 2)), 'cycle')
  assert.equal(await checkAtLater({ ...link(B, C, 2), seq: 3 }), 'signature')
  assert.equal(await checkAtLater(null), 'malformed')
})
