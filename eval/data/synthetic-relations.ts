// What the people of the synthetic set tell about themselves, and how one may ask for it.

/** A thing that holds one value for a person. `{p}` is the person's name, `{v}` the value. */
export interface Relation {
  readonly name: string
  readonly values: readonly string[]
  /** In the words of the person. */
  readonly says: readonly string[]
  /** In the words of somebody else. */
  readonly told: string
  /** The person, when the value has changed; absent: it does not change. */
  readonly says_again?: string
  readonly asks: string
  /** The same question in other words than those of the statement. */
  readonly asks_otherwise: string
  /** The same about the person who leads the project `{j}`. */
  readonly asks_of_leader: string
}

const words = (list: string): string[] => list.split(', ')

export const RELATIONS: readonly Relation[] = [
  {
    name: 'home',
    values: words(
      'Riga, Graz, Utrecht, Leeds, Turin, Gdansk, Malmo, Basel, Lyon, Cork, Brno, Faro',
    ),
    says: ['I moved to {v} and found a flat near the river.', 'I moved to the old town of {v}.'],
    told: '{p} has moved to {v}, close to the station.',
    says_again: 'I moved once more, this time to {v}.',
    asks: 'Which city did {p} move to?',
    asks_otherwise: 'Where does {p} live these days?',
    asks_of_leader: 'Which city did the leader of the {j} project move to?',
  },
  {
    name: 'job',
    values: words(
      'welder, notary, florist, surveyor, midwife, translator, beekeeper, paramedic, tailor',
    ),
    says: ['I work as a {v} from this month on.', 'I was hired and now work as a {v}.'],
    told: '{p} was hired to work as a {v}.',
    says_again: 'I changed direction and now work as a {v} instead.',
    asks: 'What does {p} work as?',
    asks_otherwise: "What is {p}'s profession?",
    asks_of_leader: 'What does the leader of the {j} project work as?',
  },
  {
    name: 'dog',
    values: words(
      'Biscuit, Pepper, Waffle, Comet, Juno, Sprout, Bandit, Mochi, Truffle, Ziggy, Nutmeg',
    ),
    says: [
      'I adopted a dog from the shelter and named it {v}.',
      'We adopted a dog, its name is {v}.',
    ],
    told: '{p} adopted a dog with the name {v}.',
    asks: 'What is the name of the dog {p} adopted?',
    asks_otherwise: "What is {p}'s puppy called?",
    asks_of_leader: 'What is the name of the dog that the leader of the {j} project adopted?',
  },
  {
    name: 'allergy',
    values: words('peanuts, shellfish, mustard, sesame, celery, strawberries, lupin, hazelnuts'),
    says: ['The test says I am allergic to {v}.', 'It turns out that I am allergic to {v}.'],
    told: '{p} turned out to be allergic to {v}.',
    asks: 'What is {p} allergic to?',
    asks_otherwise: 'Which food must {p} avoid for medical reasons?',
    asks_of_leader: 'What is the leader of the {j} project allergic to?',
  },
  {
    name: 'instrument',
    values: words('cello, clarinet, accordion, harp, trombone, viola, banjo, oboe, mandolin'),
    says: [
      'I started lessons on the {v}, an instrument I always loved.',
      'I took up an instrument, the {v}.',
    ],
    told: '{p} took up an instrument, the {v}.',
    asks: 'Which instrument did {p} take up?',
    asks_otherwise: 'What kind of music does {p} play at home?',
    asks_of_leader: 'Which instrument did the leader of the {j} project take up?',
  },
  {
    name: 'car',
    values: words(
      'red Volvo, silver Skoda, green Fiat, black Mazda, white Seat, blue Subaru, grey Honda',
    ),
    says: ['I bought a used car, a {v}.', 'I finally bought a car, the {v} I had looked at.'],
    told: '{p} bought a car, a {v} with low mileage.',
    says_again: 'I sold the old car and bought a {v}.',
    asks: 'What car did {p} buy?',
    asks_otherwise: 'Which vehicle does {p} drive?',
    asks_of_leader: 'What car did the leader of the {j} project buy?',
  },
  {
    name: 'book',
    values: words(
      'The Salt Road, Paper Lanterns, A Quiet Harbour, Nine Winters, The Glass Orchard',
    ),
    says: ['I finished the book {v} in two evenings.', 'I finished a book called {v}.'],
    told: '{p} finished the book {v} and cannot stop talking about it.',
    asks: 'Which book did {p} finish?',
    asks_otherwise: 'What novel has {p} been reading?',
    asks_of_leader: 'Which book did the leader of the {j} project finish?',
  },
  {
    name: 'room',
    values: Array.from(
      { length: 60 },
      (_, at) => `${1 + (at % 6)}.${String(7 + at * 3).padStart(3, '0')}`,
    ),
    says: ['My office is in room {v} now.', 'They gave me an office, room {v}.'],
    told: 'You find {p} in the office with room number {v}.',
    says_again: 'My office has changed, it is room {v} from today.',
    asks: "Which room is {p}'s office?",
    asks_otherwise: 'Where is the desk of {p}?',
    asks_of_leader: 'Which room is the office of the leader of the {j} project?',
  },
  {
    name: 'dish',
    values: words('mushroom risotto, lentil soup, fish tacos, pierogi, ramen, shakshuka, gnocchi'),
    says: ['My favourite dish is {v}.', 'If you ask me, my favourite dish is {v}.'],
    told: 'The favourite dish of {p} is {v}.',
    says_again: 'My favourite dish is no longer what it was: it is {v} now.',
    asks: "What is {p}'s favourite dish?",
    asks_otherwise: 'Which meal does {p} like best?',
    asks_of_leader: 'What is the favourite dish of the leader of the {j} project?',
  },
  {
    name: 'club',
    values: words('rowing, fencing, archery, climbing, badminton, sailing, judo, orienteering'),
    says: ['I joined the {v} club and train on Mondays.', 'I joined a club for {v}.'],
    told: '{p} joined the {v} club.',
    asks: 'Which club did {p} join?',
    asks_otherwise: 'What sport does {p} practise regularly?',
    asks_of_leader: 'Which club did the leader of the {j} project join?',
  },
  {
    name: 'school',
    values: words(
      'Linden Academy, Northgate, Saint Brigid, Hillcrest, Riverside, Oakfield, Westbrook',
    ),
    says: ['My daughter was accepted at the school {v}.', 'The school {v} accepted my daughter.'],
    told: 'The daughter of {p} was accepted at the school {v}.',
    asks: "Which school accepted {p}'s daughter?",
    asks_otherwise: "Where is {p}'s child being educated?",
    asks_of_leader: 'Which school accepted the daughter of the leader of the {j} project?',
  },
  {
    name: 'injury',
    values: words(
      'left wrist, right ankle, collarbone, little finger, left elbow, big toe, right knee',
    ),
    says: ['I broke my {v} on the stairs.', 'I slipped on the stairs and broke my {v}.'],
    told: '{p} fell on the stairs, the {v} is broken.',
    asks: 'What did {p} break on the stairs?',
    asks_otherwise: 'Which part of the body did {p} injure in the accident?',
    asks_of_leader: 'What did the leader of the {j} project break on the stairs?',
  },
  {
    name: 'gift',
    values: words(
      'telescope, chess set, leather satchel, fountain pen, bread oven, kite, wool blanket',
    ),
    says: [
      'For my birthday my brother gave me a {v}.',
      'My brother gave me a {v} as a birthday gift.',
    ],
    told: 'For the birthday of {p} the brother gave a {v}.',
    asks: 'What birthday gift did {p} get from the brother?',
    asks_otherwise: 'Which present did {p} receive from a sibling?',
    asks_of_leader: 'What birthday gift did the leader of the {j} project get from the brother?',
  },
  {
    name: 'course',
    values: words(
      'bookkeeping, pottery, Portuguese, sign language, photography, astronomy, carpentry',
    ),
    says: [
      'I enrolled in an evening course in {v}.',
      'I enrolled in a course, {v}, every Tuesday.',
    ],
    told: '{p} enrolled in an evening course in {v}.',
    asks: 'What evening course did {p} enrol in?',
    asks_otherwise: 'Which subject is {p} learning after hours?',
    asks_of_leader: 'What evening course did the leader of the {j} project enrol in?',
  },
]

/** How somebody says to have been at the place `{v}`. */
export const VISITS = [
  'I visited {v} with my cousins.',
  'We visited {v} for a long weekend.',
  'I visited {v} on my own and walked for days.',
]

/** What is said of a project `{j}`; it may change. */
export const PROJECT_FACTS: readonly Omit<Relation, 'says_again' | 'asks_of_leader' | 'told'>[] = [
  {
    name: 'deadline',
    values: words(
      '3 March, 19 April, 8 May, 27 June, 14 July, 30 August, 11 September, 22 October',
    ),
    says: [
      'The deadline of the {j} project is {v}.',
      'The deadline of the {j} project is now {v}.',
    ],
    asks: 'What is the deadline of the {j} project?',
    asks_otherwise: 'By when must {j} be delivered?',
  },
  {
    name: 'budget',
    values: words(
      'forty thousand euros, ninety thousand euros, two million euros, half a million euros',
    ),
    says: [
      'The budget of the {j} project is {v}.',
      'The budget of the {j} project was set to {v}.',
    ],
    asks: 'What is the budget of the {j} project?',
    asks_otherwise: 'How much money may {j} spend?',
  },
  {
    name: 'supplier',
    values: words(
      'Norrland Steel, Baltic Glass, Alpha Logistics, Riva Textiles, Oster Paper, Kappa Foods',
    ),
    says: [
      'The supplier of the {j} project is {v}.',
      'The supplier of the {j} project will be {v}.',
    ],
    asks: 'Which supplier does the {j} project use?',
    asks_otherwise: 'Who provides the material for {j}?',
  },
]

export const LEADS = 'I am the leader of the {j} project from now on.'

export const fill = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replaceAll(/\{(\w)\}/g, (slot, name: string) => values[name] ?? slot)
