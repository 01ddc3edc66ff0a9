// The questions of the synthetic set, each with the statements that answer it.

import { pick, type Random, shuffled } from './random.ts'
import { fill } from './synthetic-relations.ts'
import type { FactVersions, Statement, Visit, World } from './synthetic-world.ts'

export const SYNTHETIC_CATEGORIES = {
  1: 'direct',
  2: 'paraphrase',
  3: 'multi-hop',
  4: 'temporal',
  5: 'superseded',
  6: 'deleted',
  7: 'namesakes',
} as const

/** How many questions of each category a circle is asked, at most. */
export type QuestionCounts = Readonly<Record<keyof typeof SYNTHETIC_CATEGORIES, number>>

export interface SyntheticQuestion {
  readonly category: keyof typeof SYNTHETIC_CATEGORIES
  readonly text: string
  readonly gold: readonly Statement[]
}

const MONTHS =
  'January February March April May June July August September October November December'.split(' ')

/** Marks some statements as erased: what is asked of them has no answer any more. */
export function ask(random: Random, world: World, counts: QuestionCounts): SyntheticQuestion[] {
  const steady = shuffled(
    random,
    world.told.filter(({ versions, person }) => versions.length === 1 && !person.has_namesake),
  )
  const take = (count: number) => steady.splice(0, count)
  const erased = take(counts[6])
  for (const { versions } of erased) for (const statement of versions) statement.erased = true
  eraseOldVersions(random, world)
  const plain = (
    category: SyntheticQuestion['category'],
    told: FactVersions,
    template: string,
  ): SyntheticQuestion => ({
    category,
    text: fill(template, { p: told.person.asked }),
    gold: told.versions.slice(-1),
  })
  const namesakes = world.told.filter(
    ({ versions, person }) => versions.length === 1 && person.has_namesake,
  )
  const changed = world.told.filter(({ versions }) => versions.length > 1)
  return [
    ...take(counts[1]).map((told) => plain(1, told, told.relation.asks)),
    ...take(counts[2]).map((told) => plain(2, told, told.relation.asks_otherwise)),
    ...shuffled(random, [...askOfLeaders(world), ...askOfSeveral(random, world)])
      .filter(({ gold }) => new Set(gold.map(({ session }) => session)).size > 1)
      .slice(0, counts[3]),
    ...shuffled(random, askOfTimes(random, world)).slice(0, counts[4]),
    ...shuffled(random, [
      ...changed.map((told) => plain(5, told, told.relation.asks)),
      ...askOfChangedProjects(world),
    ]).slice(0, counts[5]),
    ...erased.map(
      (told): SyntheticQuestion => ({ ...plain(6, told, told.relation.asks), gold: [] }),
    ),
    ...shuffled(random, namesakes)
      .slice(0, counts[7])
      .map((told) => plain(7, told, told.relation.asks)),
  ]
}

/** Of some longer chains a version that was replaced is erased too: the newest stays as it is. */
function eraseOldVersions(random: Random, { told }: World): void {
  for (const { versions } of told)
    if (versions.length > 2 && random() < 0.5) {
      const [first] = versions
      if (first) first.erased = true
    }
}

const isErased = ({ versions }: FactVersions): boolean => versions.at(-1)?.erased === true

/** Who leads is said in one place, what is asked of the leader in another, without the project. */
function askOfLeaders({ projects, told }: World): SyntheticQuestion[] {
  return projects.flatMap(({ name, leader, lead }) =>
    told
      .filter((one) => one.person === leader && !isErased(one))
      .map(({ relation, versions }) => ({
        category: 3 as const,
        text: fill(relation.asks_of_leader, { j: name }),
        gold: [lead, ...versions.slice(-1)],
      })),
  )
}

/** All places of one person, and one relation of two people. */
function askOfSeveral(random: Random, { people, told, visits }: World): SyntheticQuestion[] {
  const places = people.map(({ asked, name }) => ({
    category: 3 as const,
    text: `Which places has ${asked} visited?`,
    gold: visits.filter(({ person }) => person.name === name).map(({ statement }) => statement),
  }))
  const pairs = people.flatMap((person): SyntheticQuestion[] => {
    const own = told.filter((one) => one.person === person && !isErased(one))
    if (own.length === 0) return []
    const first = pick(random, own)
    const same = told.filter(
      (one) => one.relation === first.relation && one.person !== person && !isErased(one),
    )
    if (same.length === 0) return []
    const second = pick(random, same)
    const names = `${person.asked} and ${second.person.asked}`
    return [
      {
        category: 3,
        text: fill(first.relation.asks, { p: names }),
        gold: [...first.versions.slice(-1), ...second.versions.slice(-1)],
      },
    ]
  })
  return [...places, ...pairs]
}

function askOfTimes(random: Random, { people, visits, dates }: World): SyntheticQuestion[] {
  return people.flatMap((person): SyntheticQuestion[] => {
    const own = visits.filter((visit) => visit.person === person)
    const [one, other] = [own[0], own[1]]
    if (!one || !other) return []
    const visit = pick(random, own)
    const monthOf = ({ statement }: Visit) => (dates[statement.session] ?? '').slice(0, 7)
    const month = monthOf(visit)
    const spoken = `${MONTHS[Number(month.slice(5)) - 1]} ${month.slice(0, 4)}`
    const asked = (text: string, gold: readonly Visit[]): SyntheticQuestion => ({
      category: 4,
      text,
      gold: gold.map(({ statement }) => statement),
    })
    return [
      asked(`When did ${person.asked} visit ${visit.place}?`, [visit]),
      asked(
        `Which place did ${person.asked} visit in ${spoken}?`,
        own.filter((candidate) => monthOf(candidate) === month),
      ),
      asked(`Where did ${person.asked} go after visiting ${one.place}?`, [one, other]),
      asked(`Which place did ${person.asked} visit before ${other.place}?`, [one, other]),
    ]
  })
}

function askOfChangedProjects({ projects }: World): SyntheticQuestion[] {
  return projects.flatMap(({ name, facts }) =>
    facts
      .filter(({ versions }) => versions.length > 1)
      .map(({ about, versions }) => ({
        category: 5 as const,
        text: fill(about.asks, { j: name }),
        gold: versions.slice(-1),
      })),
  )
}
