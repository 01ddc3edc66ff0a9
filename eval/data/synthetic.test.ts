// The synthetic set: the same for a seed, and consistent with itself.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Conversation,
  datedContent,
  hiddenKeys,
  limitQuestions,
  withDatesInContent,
} from './dataset.ts'
import { makeSynthetic, SYNTHETIC, SYNTHETIC_SHORT } from './synthetic.ts'

const whole = makeSynthetic(SYNTHETIC)
const short = makeSynthetic(SYNTHETIC_SHORT)
const conversations = [...whole.conversations, ...short.conversations]

const contentOf = ({ facts }: Conversation, key: string): string =>
  facts.find((fact) => fact.key === key)?.content ?? ''

test('a seed makes the same set again, another seed another one', () => {
  assert.equal(makeSynthetic(SYNTHETIC_SHORT).sha256, short.sha256)
  assert.notEqual(makeSynthetic({ ...SYNTHETIC_SHORT, seed: 1 }).sha256, short.sha256)
})

test('the whole set has thousands of facts, hundreds of questions, and all categories', () => {
  const questions = whole.conversations.flatMap((conversation) => conversation.questions)
  const facts = whole.conversations.flatMap((conversation) => conversation.facts)
  assert(facts.length > 3_500 && facts.length < 5_000, `${facts.length} facts`)
  assert.equal(questions.length, 640)
  const categories = new Set(questions.map(({ category }) => category))
  assert.deepEqual([...categories].sort(), [1, 2, 3, 4, 5, 6, 7])
})

test('evidence can be shown, and every question but those on erased facts has some', () => {
  for (const conversation of conversations) {
    const hidden = hiddenKeys(conversation)
    for (const { gold, category, text } of conversation.questions) {
      assert.equal(gold.length === 0, category === 6, text)
      for (const key of gold) {
        assert.notEqual(contentOf(conversation, key), '', text)
        assert(!hidden.has(key), text)
      }
    }
  }
})

test('a version replaces one that was written before it, once', () => {
  for (const { facts } of conversations) {
    const replaced = facts.flatMap(({ replaces }) => (replaces === undefined ? [] : [replaces]))
    assert.equal(new Set(replaced).size, replaced.length)
    const placeOf = new Map(facts.map(({ key }, at) => [key, at]))
    assert.equal(placeOf.size, facts.length)
    for (const [at, { replaces }] of facts.entries())
      if (replaces !== undefined) assert((placeOf.get(replaces) ?? at) < at)
    assert(replaced.length > 10)
    assert(facts.filter(({ erased }) => erased).length > 3)
  }
})

test('a multi-hop question needs turns of two sessions, a direct one a single turn', () => {
  const sizes = (category: number) =>
    whole.conversations
      .flatMap((conversation) => conversation.questions)
      .filter((question) => question.category === category)
      .map(({ gold }) => gold.length)
  for (const { questions, facts } of whole.conversations) {
    const sessionOf = new Map(facts.map(({ key, metadata }) => [key, metadata.session_id]))
    for (const { category, gold, text } of questions)
      if (category === 3) assert(new Set(gold.map((key) => sessionOf.get(key))).size > 1, text)
  }
  assert([...sizes(1), ...sizes(2), ...sizes(5), ...sizes(7)].every((size) => size === 1))
})

test('a namesake is asked for by the whole name, and somebody else shares the first', () => {
  for (const conversation of conversations) {
    const speakers = new Set(conversation.facts.map(({ metadata }) => metadata.speaker ?? ''))
    for (const { category, text } of conversation.questions) {
      if (category !== 7) continue
      const named = [...speakers].find((speaker) => text.includes(speaker))
      const [first] = (named ?? 'nobody').split(' ')
      const others = [...speakers].filter((one) => one !== named && one.startsWith(`${first} `))
      assert.equal(others.length, 1, text)
    }
  }
})

test('a limit keeps the first questions of each conversation, and every fact', () => {
  const limited = limitQuestions(short, 3)
  assert(limited.conversations.every(({ questions }) => questions.length === 3))
  assert.deepEqual(
    limited.conversations.map(({ facts }) => facts.length),
    short.conversations.map(({ facts }) => facts.length),
  )
})

test('a date is in front of a content only on request, and once', () => {
  const [plain] = short.conversations[0]?.facts ?? []
  assert(plain)
  const { content, metadata } = plain
  assert(content.startsWith(`${metadata.speaker}: `), content)
  const [dated] = withDatesInContent(short).conversations[0]?.facts ?? []
  assert.deepEqual(dated, { ...plain, content: `[${metadata.date}] ${content}` })
  assert(dated)
  assert.equal(datedContent(dated), dated.content)
})
