// The chats set: the same for a seed, consistent with itself, and in the shape of real chats.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Conversation, Fact } from '../dataset.ts'
import { CHATS, CHATS_SEED, CHATS_SHORT, foldOf, makeChats } from './chats.ts'
import { LISTS, TOPICS } from './chats-topics.ts'

const whole = makeChats(CHATS, CHATS_SEED)
const facts = whole.conversations.flatMap((conversation) => conversation.facts)
const questions = whole.conversations.flatMap((conversation) => conversation.questions)
const betweenPeople = whole.conversations.slice(0, CHATS.chats)
const withAssistant = whole.conversations.slice(CHATS.chats)

const speakerOf = ({ content }: Fact): string => content.slice(0, content.indexOf(': '))
const textOf = ({ content }: Fact): string => content.slice(content.indexOf(': ') + 2)
const messageOf = ({ metadata }: Fact): unknown => Reflect.get(metadata, 'message_id')
const shareOf = <T>(all: readonly T[], holds: (one: T) => boolean): number =>
  all.filter(holds).length / all.length

function goldOf({ facts: all }: Conversation, gold: readonly string[]): Fact[] {
  return gold.map((key) => {
    const fact = all.find((one) => one.key === key)
    assert(fact, key)
    return fact
  })
}

function assertBetween(figure: number, low: number, high: number, what: string): void {
  assert(figure >= low && figure <= high, `${what} ${figure}, not from ${low} to ${high}`)
}

/** Lengths of runs of messages of one speaker within a session. */
function runLengths({ facts: all }: Conversation): number[] {
  const lengths: number[] = []
  for (const [at, fact] of all.entries()) {
    const before = all[at - 1]
    const same =
      before?.metadata.session_id === fact.metadata.session_id &&
      speakerOf(before) === speakerOf(fact)
    const last = lengths.length - 1
    if (same && last >= 0) lengths[last] = (lengths[last] ?? 0) + 1
    else lengths.push(1)
  }
  return lengths
}

test('the same seed makes the same bytes', () => {
  assert.equal(makeChats(CHATS, CHATS_SEED).sha256, whole.sha256)
  assert.equal(whole.sha256, '4292266ec6e080a15a5e116cf9157c7db6382b779df5cd0371594e13323a1cfc')
  assert.notEqual(makeChats(CHATS, CHATS_SEED + 1_000).sha256, whole.sha256)
})

test('the set has thousands of facts, and each fold has questions of every category', () => {
  assertBetween(whole.conversations.length, 10, 20, 'conversations')
  assertBetween(facts.length, 2_000, 4_000, 'facts')
  assertBetween(questions.length, 400, 600, 'questions')
  for (const fold of [0, 1]) {
    const own = whole.conversations.filter((_, at) => foldOf(at) === fold)
    const asked = own.flatMap((conversation) => conversation.questions)
    assert.deepEqual([...new Set(asked.map(({ category }) => category))], [1, 2, 3, 4, 5, 6, 8, 7])
    assertBetween(asked.length / questions.length, 0.45, 0.55, 'share of the fold')
  }
})

test('every answer was written, keys are unique, and only category 8 has no answer', () => {
  for (const conversation of whole.conversations) {
    const keys = new Set(conversation.facts.map(({ key }) => key))
    assert.equal(keys.size, conversation.facts.length)
    const texts = conversation.questions.map(({ text }) => text)
    assert.equal(new Set(texts).size, texts.length, conversation.name)
    for (const { category, gold, text } of conversation.questions) {
      assert.equal(gold.length === 0, category === 8, text)
      assert.equal(new Set(gold).size, gold.length, text)
      goldOf(conversation, gold)
      assert(!/\{\w\}|undefined|~/.test(text), text)
    }
    for (const { content } of conversation.facts)
      assert(!/\{\w\}|undefined|~/.test(content), content)
  }
})

test('metadata names the speaker of a message, and sessions are in the order of time', () => {
  for (const { facts: all } of whole.conversations)
    for (const [at, fact] of all.entries()) {
      assert.equal(Reflect.get(fact.metadata, 'speaker'), speakerOf(fact))
      assert.match(fact.metadata.date, /^202[45]-\d\d-\d\d$/)
      assert((all[at - 1]?.metadata.date ?? '') <= fact.metadata.date)
    }
})

test('a paraphrase shares no longer word with its answer but names, and does not tell it', () => {
  const values = TOPICS.flatMap((topic) => topic.values.map((value) => value.toLowerCase()))
  for (const conversation of betweenPeople) {
    const names = new Set(conversation.facts.map((fact) => speakerOf(fact).toLowerCase()))
    for (const { category, text, gold } of conversation.questions) {
      if (category !== 2) continue
      const asked = text.toLowerCase()
      assert(!values.some((value) => new RegExp(`\\b${value}\\b`).test(asked)), text)
      const [fact] = goldOf(conversation, gold)
      const said = new Set(
        fact &&
          textOf(fact)
            .toLowerCase()
            .match(/\p{L}{5,}/gu),
      )
      const shared = asked.match(/\p{L}{5,}/gu)?.filter((word) => said.has(word)) ?? []
      assert.deepEqual(
        shared.filter((word) => !names.has(word)),
        [],
        `${text} ${fact?.content}`,
      )
    }
  }
})

test('answers that are split, of a list, or under another name need several messages', () => {
  const several = questions.filter(({ category }) => category === 3)
  assert(several.every(({ gold }) => gold.length >= 2))
  const lists = questions.filter(({ category }) => category === 4)
  assert(shareOf(lists, ({ gold }) => gold.length >= 2) > 0.9)
  assert(questions.every(({ category, gold }) => category !== 6 || gold.length === 2))
  for (const conversation of betweenPeople)
    for (const { category, text, gold } of conversation.questions) {
      if (category !== 3) continue
      const sessions = goldOf(conversation, gold).map(({ metadata }) => metadata.session_id)
      assert.equal(new Set(sessions).size, 1, text)
    }
})

test('an alias question names a person whom a part of the answer does not name', () => {
  let aliases = 0
  for (const conversation of betweenPeople)
    for (const { category, text, gold } of conversation.questions) {
      if (category !== 6 || text.startsWith('Who has')) continue
      const name = /(\p{Lu}\p{L}+)('s \p{L}+)? .*\?$/u.exec(text.slice(5))?.[1] ?? ''
      assert.notEqual(name, '', text)
      const pattern = new RegExp(`\\b${name}\\b`, 'i')
      const unnamed = goldOf(conversation, gold).filter((fact) => !pattern.test(textOf(fact)))
      assert(unnamed.length > 0, text)
      aliases += 1
    }
  assertBetween(aliases, 20, 60, 'alias questions')
})

test('a question of a month or season is answered by messages of that time', () => {
  const seasons = { spring: '03 04 05', summer: '06 07 08', autumn: '09 10 11', winter: '12 01 02' }
  let checked = 0
  for (const conversation of betweenPeople)
    for (const { category, text, gold } of conversation.questions) {
      const season = / in (spring|summer|autumn|winter) (\d{4})\?$/.exec(text)
      if (category !== 5 || !season) continue
      const months = Object.entries(seasons).find(([name]) => name === season[1])?.[1] ?? ''
      for (const { metadata } of goldOf(conversation, gold))
        assert(months.includes(metadata.date.slice(5, 7)), `${text} ${metadata.date}`)
      checked += 1
    }
  assert(checked >= 5, `${checked} questions of a season`)
})

test('people write several short messages in a row, in sessions of very different length', () => {
  const runs = betweenPeople.flatMap(runLengths)
  assertBetween(
    shareOf(runs, (length) => length >= 2),
    0.35,
    0.7,
    'runs of two or more',
  )
  assertBetween(
    shareOf(runs, (length) => length >= 3),
    0.12,
    0.4,
    'runs of three or more',
  )
  const characters = betweenPeople
    .flatMap(({ facts: all }) => all)
    .map((fact) => textOf(fact).length)
  assertBetween(characters.reduce((sum, one) => sum + one, 0) / characters.length, 15, 40, 'mean')
  const sizes = betweenPeople.flatMap(({ facts: all }) =>
    [...Map.groupBy(all, ({ metadata }) => metadata.session_id).values()].map((own) => own.length),
  )
  assertBetween(Math.min(...sizes), 3, 8, 'shortest session')
  assertBetween(Math.max(...sizes), 50, 60, 'longest session')
})

test('the share of words with a typo is near the one in the spec, and nothing else differs', () => {
  const clean = makeChats({ ...CHATS, typos: 0 }, CHATS_SEED)
  const wordsOf = (all: readonly Fact[]) => all.flatMap((fact) => textOf(fact).split(' '))
  const peopleOnly = ({ conversations }: typeof whole) =>
    wordsOf(conversations.slice(0, CHATS.chats).flatMap((conversation) => conversation.facts))
  const [typed, intended] = [peopleOnly(whole), peopleOnly(clean)]
  assert.equal(typed.length, intended.length)
  const long = [...intended.entries()].filter(([, word]) => /\p{L}{4,}/u.test(word))
  const changed = long.filter(([at, word]) => typed[at] !== word)
  assertBetween(changed.length / long.length, 0.6 * CHATS.typos, 1.4 * CHATS.typos, 'typos')
  const others = [...intended.entries()].filter(([, word]) => !/\p{L}{4,}/u.test(word))
  assert(others.every(([at, word]) => typed[at] === word))
})

test('most messages are lower case, few end in a full stop, some are in German or Spanish', () => {
  const texts = betweenPeople.flatMap(({ facts: all }) => all.map(textOf))
  assertBetween(
    shareOf(texts, (text) => text === text.toLowerCase()),
    0.5,
    0.9,
    'lower case',
  )
  assertBetween(
    shareOf(texts, (text) => text.endsWith('.')),
    0.05,
    0.4,
    'full stops',
  )
  const german = /\b(ich|der|und|nicht|das)\b/i
  const spanish = /\b(que|el|está|una?|no lo|hoy)\b/i
  assertBetween(
    shareOf(texts, (text) => german.test(text)),
    0.01,
    0.15,
    'German',
  )
  assertBetween(
    shareOf(texts, (text) => spanish.test(text)),
    0.01,
    0.15,
    'Spanish',
  )
})

test('an assistant answers in pieces of at most 280 characters that name their message', () => {
  for (const { facts: all } of withAssistant) {
    const answers = all.filter((fact) => speakerOf(fact) === 'assistant')
    const pieces = [...Map.groupBy(answers, messageOf).values()]
    assert(answers.every((fact) => typeof messageOf(fact) === 'string'))
    assertBetween(answers.length / pieces.length, 2, 8, 'pieces of an answer')
    assert(all.every((fact) => textOf(fact).length <= 280))
    assert(shareOf(all, (fact) => speakerOf(fact) === 'user') > 0.25)
  }
  assert(betweenPeople.every(({ facts: all }) => all.every((fact) => !messageOf(fact))))
})

test('the answer of an assistant is in what the assistant wrote', () => {
  for (const conversation of withAssistant)
    for (const { category, gold, text } of conversation.questions)
      if (category === 7)
        assert(
          goldOf(conversation, gold).every((one) => speakerOf(one) === 'assistant'),
          text,
        )
})

test('the folds share no question about a topic, a list or a task', () => {
  const templates = [...TOPICS, ...LISTS].flatMap(({ asks }) => asks)
  const tests = templates.map(
    (template) =>
      new RegExp(`^${template.replaceAll(/[?.]/g, '\\$&').replaceAll(/\{p\}/g, '\\p{L}+')}$`, 'u'),
  )
  const usedBy = (fold: number) =>
    tests.filter((pattern) =>
      betweenPeople.some(
        (conversation, at) =>
          foldOf(at) === fold && conversation.questions.some(({ text }) => pattern.test(text)),
      ),
    )
  const [even, odd] = [usedBy(0), usedBy(1)]
  assert(even.length > 8 && odd.length > 8)
  assert.deepEqual(
    even.filter((pattern) => odd.includes(pattern)),
    [],
  )
})

test('a small set has both kinds of conversation', () => {
  const { conversations } = makeChats(CHATS_SHORT, CHATS_SEED)
  assert.deepEqual(
    conversations.map(({ name }) => name),
    ['chat-1', 'chat-2', 'assistant-1', 'assistant-2'],
  )
})
