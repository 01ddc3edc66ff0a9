// A made-up circle of people and what they told each other over a year, by seed.

import { below, pick, type Random, shuffled } from './random.ts'
import {
  fill,
  LEADS,
  PROJECT_FACTS,
  RELATIONS,
  type Relation,
  VISITS,
} from './synthetic-relations.ts'
import { FIRST_NAMES, LAST_NAMES, OPENERS, PLACES, PROJECTS, TAILS } from './synthetic-words.ts'

/** Something said in a session; its place within the session is drawn later. */
export interface Statement {
  readonly session: number
  readonly speaker: string
  readonly text: string
  readonly replaces?: Statement
  erased?: true
}

export interface Person {
  readonly name: string
  /** How one asks for the person: the first name, or the whole where the first is shared. */
  readonly asked: string
  readonly has_namesake: boolean
}

/** What one person told of one relation, oldest version first. */
export interface FactVersions {
  readonly person: Person
  readonly relation: Relation
  readonly versions: readonly Statement[]
}

export interface Visit {
  readonly person: Person
  readonly place: string
  readonly statement: Statement
}

export interface Project {
  readonly name: string
  readonly leader: Person
  readonly lead: Statement
  readonly facts: readonly {
    readonly about: (typeof PROJECT_FACTS)[number]
    readonly versions: readonly Statement[]
  }[]
}

export interface World {
  /** ISO dates, ascending. */
  readonly dates: readonly string[]
  readonly people: readonly Person[]
  readonly told: readonly FactVersions[]
  /** By person, each person's in the order of time. */
  readonly visits: readonly Visit[]
  readonly projects: readonly Project[]
}

export interface WorldSize {
  readonly people: number
  readonly sessions: number
}

const DAY_MS = 86_400_000
const FIRST_DAY_MS = Date.UTC(2023, 0, 9)
/** A couple of pairs in each circle share their first name. */
const PEOPLE_A_NAMESAKE = 5
const VISITS_EACH = 3
/** The number of facts that each person does not tell. */
const UNTOLD = 2
const CHANGED_SHARE = 0.3
const SECOND_HAND_SHARE = 0.25

export function makeWorld(random: Random, size: WorldSize): World {
  const people = makePeople(random, size.people)
  return {
    dates: makeDates(random, size.sessions),
    people,
    told: people.flatMap((person) => tellAbout(random, { person, people, size })),
    visits: people.flatMap((person) => travel(random, person, size)),
    projects: shuffled(random, PROJECTS)
      .slice(0, Math.ceil(size.people / 3))
      .map((name, at) => plan(random, name, { leader: people[at] ?? pick(random, people), size })),
  }
}

function makeDates(random: Random, sessions: number): string[] {
  let day = below(random, 7)
  return Array.from({ length: sessions }, () => {
    day += 5 + below(random, 12)
    return new Date(FIRST_DAY_MS + day * DAY_MS).toISOString().slice(0, 10)
  })
}

/** Every few people the next one has the first name of the one before, never the last name. */
function makePeople(random: Random, count: number): Person[] {
  const last = shuffled(random, LAST_NAMES)
  const first = shuffled(random, FIRST_NAMES)
  const firstOf = (at: number) => {
    const shares = at % PEOPLE_A_NAMESAKE === 1
    return first[shares ? at - 1 : at] ?? pick(random, first)
  }
  const names = Array.from({ length: count }, (_, at) => firstOf(at))
  return names.map((given, at) => {
    const has_namesake = names.filter((other) => other === given).length > 1
    const name = `${given} ${last[at]}`
    return { name, asked: has_namesake ? name : given, has_namesake }
  })
}

interface Circle {
  readonly person: Person
  readonly people: readonly Person[]
  readonly size: WorldSize
}

function tellAbout(random: Random, { person, people, size }: Circle): FactVersions[] {
  const relations = shuffled(random, RELATIONS).slice(UNTOLD)
  return relations.map((relation) => {
    const { says_again } = relation
    const changes = says_again !== undefined && random() < CHANGED_SHARE ? 1 + below(random, 2) : 0
    const sessions = ascending(random, 1 + changes, size.sessions)
    const values = shuffled(random, relation.values)
    const versions: Statement[] = []
    for (const [at, session] of sessions.entries()) {
      const v = values[at] ?? ''
      const replaces = versions.at(-1)
      if (replaces !== undefined && says_again !== undefined) {
        const text = decorate(random, fill(says_again, { v }))
        versions.push({ session, speaker: person.name, text, replaces })
      } else versions.push(tellFirst(random, { person, people, relation, session, v }))
    }
    return { person, relation, versions }
  })
}

interface StatementOptions extends Omit<Circle, 'size'> {
  readonly relation: Relation
  readonly session: number
  readonly v: string
}

function tellFirst(
  random: Random,
  { person, people, relation, session, v }: StatementOptions,
): Statement {
  if (random() >= SECOND_HAND_SHARE) {
    const text = decorate(random, fill(pick(random, relation.says), { v }))
    return { session, speaker: person.name, text }
  }
  const others = people.filter(({ name }) => name !== person.name)
  const text = decorate(random, fill(relation.told, { p: person.name, v }))
  return { session, speaker: pick(random, others).name, text }
}

function travel(random: Random, person: Person, { sessions }: WorldSize): Visit[] {
  const places = shuffled(random, PLACES)
  return ascending(random, VISITS_EACH, sessions).map((session, at) => {
    const place = places[at] ?? ''
    const text = decorate(random, fill(pick(random, VISITS), { v: place }))
    return { person, place, statement: { session, speaker: person.name, text } }
  })
}

function plan(
  random: Random,
  name: string,
  { leader, size }: { leader: Person; size: WorldSize },
): Project {
  const say = (session: number, template: string, v = ''): Statement => ({
    session,
    speaker: leader.name,
    text: decorate(random, fill(template, { j: name, v })),
  })
  const facts = PROJECT_FACTS.map((about) => {
    const values = shuffled(random, about.values)
    const versions: Statement[] = []
    for (const [at, session] of ascending(random, 1 + below(random, 3), size.sessions).entries()) {
      const replaces = versions.at(-1)
      const statement = say(session, pick(random, about.says), values[at])
      versions.push(replaces ? { ...statement, replaces } : statement)
    }
    return { about, versions }
  })
  return { name, leader, lead: say(below(random, size.sessions), LEADS), facts }
}

/** An opener and a tail around what is said; after an opener a sentence goes on. */
function decorate(random: Random, sentence: string): string {
  const opener = pick(random, OPENERS)
  const starts = /^(The|My|We|They|For|If|It|You) /.test(sentence)
  const goesOn = opener !== '' && starts
  const body = goesOn ? `${sentence[0]?.toLowerCase()}${sentence.slice(1)}` : sentence
  return `${opener}${body}${pick(random, TAILS)}`
}

/** `count` different numbers below `end`, ascending. */
function ascending(random: Random, count: number, end: number): number[] {
  const all = Array.from({ length: end }, (_, at) => at)
  return shuffled(random, all)
    .slice(0, count)
    .sort((a, b) => a - b)
}
