// The vocabulary of the workloads: invented names, a few relations, sentences and questions.

import type { RandomDraws } from './random.ts'

const GIVEN = [
  ...['Amaro', 'Bryn', 'Cosima', 'Darva', 'Emeric', 'Fenna', 'Gorim', 'Halka', 'Isolt', 'Jorun'],
  ...['Kelda', 'Lazlo', 'Mirel', 'Neko', 'Oriel', 'Pavo', 'Quenna', 'Rustam', 'Sunniva', 'Tibor'],
  ...['Ulrika', 'Vesna', 'Wendel', 'Xenia', 'Yorick', 'Zelma'],
] as const
const FAMILY = [
  ...['Ashgrove', 'Bellwain', 'Crandock', 'Dunmarrow', 'Eastley', 'Fothergate', 'Greymont'],
  ...['Hollinbeck', 'Inchmere', 'Jessamy', 'Kirkwold', 'Lowmoor', 'Marchbank', 'Netherby'],
  ...['Oakshott', 'Penrule', 'Quillfeather', 'Ravenscar', 'Stonehouse', 'Thornaby', 'Umberleigh'],
  ...['Vauxley', 'Windrush', 'Yarrowby'],
] as const

const OBJECTS = {
  place: [
    ...['Harrowmouth', 'Tesselby', 'Port Anwick', 'Calder Vale', 'Osmunda', 'Brackenfell'],
    ...['Lindqvist Bay', 'Montrellis', 'Saltash Point', 'Verrin', 'Duskwater', 'Ellenport'],
  ],
  firm: [
    ...['Ardent Mills', 'Borealis Freight', 'Copperline', 'Dovetail Press', 'Emberly Foods'],
    ...['Fairlead Marine', 'Gantry Works', 'Hearthstone Glass', 'Ironbark Tools', 'Juniper Optics'],
  ],
  thing: [
    ...['a walnut desk', 'two canoes', 'a brass telescope', 'a loom', 'an orchard', 'a piano'],
    ...['a bookbinding press', 'three beehives', 'a darkroom', 'a kiln', 'a sailing dinghy'],
  ],
  taste: [
    ...['cold tea', 'rye bread', 'long walks', 'crosswords', 'smoked cheese', 'radio plays'],
    ...['sour cherries', 'night trains', 'loud markets', 'ginger soup', 'silent films'],
  ],
  tongue: [
    ...['Basque', 'Catalan', 'Danish', 'Estonian', 'Faroese', 'Georgian', 'Hungarian'],
    ...['Icelandic', 'Kashubian', 'Latvian', 'Maltese'],
  ],
} as const

const RELATIONS = {
  lives_in: {
    objects: 'place',
    says: (s, o) => `${s} lives in ${o}.`,
    asks: (s) => `Where does ${s} live?`,
  },
  born_in: {
    objects: 'place',
    says: (s, o) => `${s} was born in ${o}.`,
    asks: (s) => `Where was ${s} born?`,
  },
  works_at: {
    objects: 'firm',
    says: (s, o) => `${s} works at ${o}.`,
    asks: (s) => `Where does ${s} work?`,
  },
  manages: {
    objects: 'firm',
    says: (s, o) => `${s} manages ${o}.`,
    asks: (s) => `What does ${s} manage?`,
  },
  owns: {
    objects: 'thing',
    says: (s, o) => `${s} owns ${o}.`,
    asks: (s) => `What does ${s} own?`,
  },
  recommends: {
    objects: 'thing',
    says: (s, o) => `${s} recommends ${o}.`,
    asks: (s) => `What does ${s} recommend?`,
  },
  prefers: {
    objects: 'taste',
    says: (s, o) => `${s} prefers ${o}.`,
    asks: (s) => `What does ${s} prefer?`,
  },
  dislikes: {
    objects: 'taste',
    says: (s, o) => `${s} dislikes ${o}.`,
    asks: (s) => `What does ${s} dislike?`,
  },
  speaks: {
    objects: 'tongue',
    says: (s, o) => `${s} speaks ${o}.`,
    asks: (s) => `Which language does ${s} speak?`,
  },
} as const satisfies Record<
  string,
  {
    readonly objects: keyof typeof OBJECTS
    readonly says: (subject: string, object: string) => string
    readonly asks: (subject: string) => string
  }
>

export type Predicate = keyof typeof RELATIONS
export const PREDICATES: readonly Predicate[] = Object.keys(RELATIONS).filter(isPredicate)

function isPredicate(word: string): word is Predicate {
  return word in RELATIONS
}

/** Another relation over the same objects, for near misses; null if there is none. */
export function siblingOf(predicate: Predicate): Predicate | null {
  const { objects } = RELATIONS[predicate]
  return PREDICATES.find((p) => p !== predicate && RELATIONS[p].objects === objects) ?? null
}

export const sentence = (predicate: Predicate, subject: string, object: string): string =>
  RELATIONS[predicate].says(subject, object)

export const question = (predicate: Predicate, subject: string): string =>
  RELATIONS[predicate].asks(subject)

/** `count` objects of a relation, no two alike. */
export function objectsOf(draws: RandomDraws, predicate: Predicate, count = 1): string[] {
  return draws.shuffle<string>(OBJECTS[RELATIONS[predicate].objects]).slice(0, count)
}

/** People, no two of whom have the same full name. */
export function peopleOf(draws: RandomDraws, count: number): string[] {
  const all = GIVEN.flatMap((given) => FAMILY.map((family) => `${given} ${family}`))
  return draws.shuffle(all).slice(0, count)
}
