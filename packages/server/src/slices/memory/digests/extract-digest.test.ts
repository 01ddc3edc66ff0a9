// The digest of a session: what it quotes, and that it depends on the session alone.

import assert from 'node:assert/strict'
import test from 'node:test'
import { ENGLISH } from '../text/analysis.ts'
import { extractDigest } from './extract-digest.ts'

const options = {
  analyser: ENGLISH,
  countTokens: (text: string) => text.split(/\s+/u).length,
  capitals: true,
}

const said = (speaker: string, content: string, date = '2023-05-07') => ({
  content,
  metadata: { speaker, date, session_id: 's' },
  vector: null,
})

const SESSION = [
  said('Ana', 'Hi there, how was your week?'),
  said('Ben', 'The marathon training for the marathon in Lisbon went well.'),
  said('Ana', 'Nice weather today, is it not?'),
  said('Ben', 'My coach says the marathon training needs two more weeks.', '2023-05-08'),
  said('Ana', 'I watched a film about cooking pasta with my cousin Dora.'),
  said('Ben', 'After the training I always eat the same soup.'),
  said('Ana', 'My neighbour plays the trumpet every morning before the sun is up.'),
  said('Ana', 'We should repaint the kitchen before the guests arrive in August.'),
]

test('a digest has the days, the names and the most central sentences', () => {
  const digest = extractDigest(SESSION, options)
  assert.ok(digest)
  const [heading, ...sentences] = digest.content.split('\n')
  assert.equal(heading, '2023-05-07, 2023-05-08 · Ana, Ben, Dora, Lisbon')
  assert.ok(sentences.some((one) => one.includes('marathon training')))
  assert.ok(!digest.content.includes('?'), 'a question tells nothing')
  assert.equal(digest.date, '2023-05-08')
})

test('a digest quotes its session word for word, in its order, and is shorter', () => {
  const digest = extractDigest(SESSION, options)
  const quoted = digest?.content.split('\n').slice(1) ?? []
  const places = quoted.map((line) =>
    SESSION.findIndex(({ content, metadata: { speaker } }) => line === `${speaker}: ${content}`),
  )
  assert.ok(places.length > 0 && !places.includes(-1), quoted.join('\n'))
  assert.deepEqual(places, places.toSorted())
  const all = SESSION.map(({ content }) => content).join(' ')
  assert.ok(options.countTokens(digest?.content ?? '') <= options.countTokens(all) / 3)
})

test('the same session gives the same digest, and vectors move it to the middle', () => {
  assert.deepEqual(extractDigest(SESSION, options), extractDigest([...SESSION], options))
  const near = Int8Array.from([127, 0])
  const far = Int8Array.from([0, 127])
  const vectors = SESSION.map((memory, at) => ({ ...memory, vector: at === 5 ? near : far }))
  const moved = vectors.map((one, at) => (at === 4 ? one : { ...one, vector: near }))
  assert.ok(!extractDigest(moved, options)?.content.includes('pasta'))
})

test('a session of few memories, of questions or of hardly any words has no digest', () => {
  assert.equal(extractDigest(SESSION.slice(0, 3), options), null)
  const questions = SESSION.map(() => said('Ana', 'Where does the marathon of the city start?'))
  assert.equal(extractDigest(questions, options), null)
  const short = Array.from({ length: 5 }, () => said('Ana', 'Oh yes.'))
  assert.equal(extractDigest(short, options), null)
})

test('text that is no prose is digested in bounded time', () => {
  for (const text of [
    '"'.repeat(200_000),
    'A'.repeat(200_000),
    '. '.repeat(100_000),
    '。'.repeat(9_000),
  ]) {
    const began = process.cpuUsage()
    extractDigest(
      Array.from({ length: 20 }, () => said('Ana', text)),
      { ...options, countTokens: (counted) => counted.length },
    )
    const { user } = process.cpuUsage(began)
    assert.ok(user < 2_000_000, `${text.slice(0, 4)}: ${user} us`)
  }
})
