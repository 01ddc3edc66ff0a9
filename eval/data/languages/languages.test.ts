// The language sets: the same for a seed, consistent with themselves, in the language they name.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Conversation, type Fact, hiddenKeys } from '../dataset.ts'
import { EVALUATION_LANGUAGES, makeLanguageSet } from './languages.ts'
import { GERMAN, SPANISH } from './languages-phrases.ts'
import { FRENCH, PORTUGUESE } from './languages-romance.ts'

const SHA256 = {
  de: '3d452f01af345a954fc029196035a26a1d9e608fb8e1a286bfc53946c233c5e2',
  es: '5e6324d11d49200bb109e377211bc14272f50aa441e8c43baf8adab0b3651a0e',
  fr: '1409c7f7e1b57649400433f16eb86b70fd07987d86cdb3f5bf199de4ea47ce2b',
  pt: '5b02eddc0c886c940e154307db54d520f0a8ed17756f594b17e432a2e4fca42c',
}

/** Words of the language that occur in none of the other three. */
const OWN_WORDS = {
  de: /\b(ich|wir|der|die|das|ist|mein|meine|hat|und|im|am)\b/i,
  es: /\b(el|los|las|mi|una?|está|con|muy|hay|he|que|hoy|llegó)\b/i,
  fr: /\b(le|les|la|mon|ma|une?|est|avec|très|il|je|des)\b|\b[jlmn]'/i,
  pt: /\b(os?|as?|meu|minha|uma?|está|no|na|com|muito|há|de|do|ao|aos|à|às)\b/i,
}

const sets = EVALUATION_LANGUAGES.map((language) => {
  const dataset = makeLanguageSet(language)
  const [conversation] = dataset.conversations
  assert(conversation)
  return { language, dataset, conversation }
})

const textOf = ({ content }: Fact): string => content.slice(content.indexOf(': ') + 2)

const wordsOf = (text: string): string[] => text.toLowerCase().match(/\p{L}+/gu) ?? []

function goldOf({ facts }: Conversation, gold: readonly string[]): Fact[] {
  return gold.map((key) => {
    const fact = facts.find((one) => one.key === key)
    assert(fact, key)
    return fact
  })
}

test('the same language makes the same bytes', () => {
  for (const { language, dataset } of sets) {
    assert.equal(makeLanguageSet(language).sha256, dataset.sha256)
    assert.equal(dataset.sha256, SHA256[language])
  }
})

test('every set has 400 facts and 100 questions, and every question is answered', () => {
  for (const { conversation } of sets) {
    const { facts, questions } = conversation
    assert.deepEqual([facts.length, questions.length], [400, 100])
    assert.equal(new Set(facts.map(({ key }) => key)).size, facts.length)
    assert.equal(new Set(questions.map(({ text }) => text)).size, questions.length)
    const hidden = hiddenKeys(conversation)
    for (const { text, gold } of questions) {
      assert(gold.length > 0 && gold.every((key) => !hidden.has(key)), text)
      goldOf(conversation, gold)
    }
    for (const text of [...facts.map(textOf), ...questions.map((question) => question.text)])
      assert(!/\{\w\}|undefined| {2}/.test(text), text)
  }
})

test('facts are mostly in the language of the set', () => {
  for (const { language, conversation } of sets) {
    const own = conversation.facts.filter((fact) => OWN_WORDS[language].test(textOf(fact)))
    const share = own.length / conversation.facts.length
    assert(share > 0.7, `${language} ${share}`)
    const speakers = conversation.facts.map((fact) => Reflect.get(fact.metadata, 'speaker'))
    assert(conversation.facts.every(({ content }, at) => content.startsWith(`${speakers[at]}: `)))
  }
})

/** The verbs of statements whose question has another form of the verb. */
const VERBS = {
  de: 'schrieb flog fand trank las half',
  es: 'escribí volé encontré bebía leí ayudé',
  fr: 'écrivais dormi trouvé buvais lu aidé',
  pt: 'escrevi voei encontrei bebia li ajudei',
}
const PHRASES = { de: GERMAN, es: SPANISH, fr: FRENCH, pt: PORTUGUESE }

test('a question in another word form has neither the noun nor the verb of the statement', () => {
  for (const { language, conversation } of sets) {
    const forms = PHRASES[language].nouns.flatMap((kind) => kind.forms)
    const plurals = forms.flatMap(([plural]) => plural?.split(' ').at(-1)?.toLowerCase() ?? [])
    const inflected = new Set([...plurals, ...VERBS[language].split(' ')])
    for (const { category, text, gold } of conversation.questions) {
      if (category !== 2) continue
      const said = goldOf(conversation, gold).flatMap((fact) => wordsOf(textOf(fact)))
      const own = said.filter((word) => inflected.has(word))
      assert.equal(own.length, 1, `${text} ${said}`)
      assert(!wordsOf(text).includes(own[0] ?? ''), `${text} ${said}`)
    }
  }
})

const DATES_IN_WORDS = {
  de: / am \d+\. \p{Lu}/u,
  es: / el \d+ de \p{Ll}/u,
  fr: / le \d+ \p{Ll}/u,
  pt: / no dia \d+ de /u,
}

test('dates are in the language, and a day that is asked for precedes its memory', () => {
  const digits = /\b(\d\d)[./](\d\d)[./](\d{4})\b/
  for (const { language, conversation } of sets) {
    const { facts, questions } = conversation
    const written = facts.filter((fact) => digits.test(textOf(fact)))
    assert(written.length >= 3, `${language}: ${written.length} dates in digits`)
    for (const fact of written) {
      const [, day, month, year] = digits.exec(textOf(fact)) ?? []
      assert(`${year}-${month}-${day}` <= fact.metadata.date, fact.content)
    }
    const inWords = facts.filter((fact) => DATES_IN_WORDS[language].test(textOf(fact)))
    assert(inWords.length >= 3, `${language}: ${inWords.length} dates in words`)
    for (const { category, text, gold } of questions) {
      const [, day, month, year] = digits.exec(text) ?? []
      if (category !== 3 || !day) continue
      for (const { metadata } of goldOf(conversation, gold)) {
        const days =
          (Date.parse(metadata.date) - Date.parse(`${year}-${month}-${day}`)) / 86_400_000
        assert(days >= 1 && days <= 14, `${text} ${metadata.date}`)
      }
    }
  }
})

test('a superseded version was written before the one that replaces it, by the same person', () => {
  for (const { conversation } of sets) {
    const { facts } = conversation
    const placeOf = new Map(facts.map(({ key }, at) => [key, at]))
    const replacing = facts.filter(({ replaces }) => replaces !== undefined)
    assert(replacing.length >= 15)
    for (const fact of replacing) {
      const at = placeOf.get(fact.replaces ?? '') ?? Number.POSITIVE_INFINITY
      assert(at < (placeOf.get(fact.key) ?? 0))
      assert.equal(facts[at]?.content.split(':')[0], fact.content.split(':')[0])
    }
  }
})
