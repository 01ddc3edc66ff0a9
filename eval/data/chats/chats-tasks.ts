// What a person asks an assistant for, and what the assistant answers at length.

const list = (values: string): string[] => values.split(', ')

interface TaskDetail {
  readonly values: readonly string[]
  readonly says: string
  readonly asks: string
}

/** `{s}` is the subject, of which there are several; `{v}` the value of a detail. */
export interface AssistantTask {
  readonly subjects: readonly string[]
  readonly opening: string
  /** What the person tells; the second question uses other words than the statement. */
  readonly told: readonly (TaskDetail & { readonly asks_otherwise: string })[]
  /** What the assistant advises. */
  readonly advice: readonly (TaskDetail & {
    /** Without the subject, which other pieces of the answer name. */
    readonly says_bare: string
  })[]
  readonly filler: readonly string[]
  readonly asks_when: string
  /** Asks for all subjects of this task. */
  readonly asks_all: string
}

/** Tasks with an even index are used in one fold, the others in the other. */
export const TASKS: readonly AssistantTask[] = [
  {
    subjects: list('Lisbon, Kyoto, Tallinn, Bergen, Oaxaca, Tbilisi, Galway, Hanoi'),
    opening: 'I want to plan a trip to {s} and need a rough plan.',
    told: [
      {
        values: list('600 euros, 900 euros, 1,200 euros, 1,500 euros, 2,000 euros'),
        says: 'My budget for {s} is {v} without the flight.',
        asks: 'What budget did I mention for {s}?',
        asks_otherwise: 'How much money can I spend while in {s}?',
      },
      {
        values: list('three days, five days, a week, ten days, two weeks'),
        says: 'We can stay in {s} for {v}.',
        asks: 'For how long can we stay in {s}?',
        asks_otherwise: 'What is the length of my trip to {s}?',
      },
    ],
    advice: [
      {
        values: list('harbour quarter, old town, university district, hill by the castle'),
        says: 'For {s}, look for a room in the {v}, as most sights are within walking distance.',
        says_bare: 'Look for a room in the {v}, as most sights are within walking distance.',
        asks: 'Which part of {s} did the assistant recommend for the room?',
      },
      {
        values: list('tram pass, rented bicycle, river ferry, shared taxi'),
        says: 'The easiest way to get around {s} is the {v}.',
        says_bare: 'The easiest way to get around is the {v}.',
        asks: 'How should I get around {s}, according to the assistant?',
      },
      {
        values: list('covered market, glass museum, botanical garden, lighthouse walk'),
        says: 'On a rainy afternoon in {s}, the {v} is a safe choice.',
        says_bare: 'On a rainy afternoon the {v} is a safe choice.',
        asks: 'What did the assistant suggest for a rainy afternoon in {s}?',
      },
    ],
    filler: [
      'Prices in {s} rise in the high season, so it pays to reserve a few weeks ahead.',
      'Keep one morning in {s} free, because plans change and a slow breakfast helps.',
    ],
    asks_when: 'When did I ask about the trip to {s}?',
    asks_all: 'Which trips have I asked the assistant to plan?',
  },
  {
    subjects: list('billing, search, login, export, email, upload, report, chat'),
    opening: 'The {s} service fails since the last release and I do not know why.',
    told: [
      {
        values: list('8 percent, 15 percent, 30 percent, half, two thirds'),
        says: 'About {v} of the {s} requests end with an error.',
        asks: 'How many of the {s} requests end with an error?',
        asks_otherwise: 'What share of calls to {s} did I say fail?',
      },
      {
        values: list('version 4.2, version 5.0, version 6.1, version 7.3'),
        says: 'We upgraded the {s} database driver to {v}.',
        asks: 'To which version did we upgrade the {s} database driver?',
        asks_otherwise: 'Which release of the connector does {s} use?',
      },
    ],
    advice: [
      {
        values: list('connection pool, retry loop, session cache, message queue'),
        says: 'In the {s} service I would first check the {v}, since the errors come in bursts.',
        says_bare: 'I would first check the {v}, since the errors come in bursts.',
        asks: 'What did the assistant want to check first in the {s} service?',
      },
      {
        values: list('20 seconds, 45 seconds, 90 seconds, two minutes'),
        says: 'Set the timeout of the {s} service to {v} until the cause is known.',
        says_bare: 'Set the timeout to {v} until the cause is known.',
        asks: 'Which timeout did the assistant recommend for the {s} service?',
      },
      {
        values: list('latency histogram, heap graph, error counter, queue length'),
        says: 'Add the {v} to the dashboard of the {s} service.',
        says_bare: 'Add the {v} to the dashboard.',
        asks: "What should be added to the {s} service's dashboard, as the assistant said?",
      },
    ],
    filler: [
      'A failing test for {s} that reproduces the error is worth more than a quick patch.',
      'Compare the logs of {s} from before and after the release, line by line if needed.',
    ],
    asks_when: 'When did I tell the assistant about the failing {s} service?',
    asks_all: 'Which failing services have I asked the assistant about?',
  },
  {
    subjects: list('librarian, museum guide, data analyst, nurse, gardener, translator, editor'),
    opening: 'I am applying for a {s} position and need help with the letter.',
    told: [
      {
        values: list('two years, four years, six years, nine years, eleven years'),
        says: 'I have worked as a {s} for {v} already.',
        asks: 'For how many years have I worked as a {s}?',
        asks_otherwise: 'How much experience do I bring to the {s} role?',
      },
      {
        values: list('3 March, 14 April, 22 May, 9 June, 30 September'),
        says: 'The {s} application closes on {v}.',
        asks: 'When does the {s} application close?',
        asks_otherwise: 'By what date must I send the letter for the {s} post?',
      },
    ],
    advice: [
      {
        values: list('a short story, a question, a number, a quotation'),
        says: 'Open the letter for the {s} position with {v} instead of a greeting formula.',
        says_bare: 'Open the letter with {v} instead of a greeting formula.',
        asks: 'How should the letter for the {s} position open, as the assistant advised?',
      },
      {
        values: list('volunteer work, night shifts, language skills, team leadership'),
        says: 'Employers of a {s} will look for {v}, so give it a paragraph of its own.',
        says_bare: 'Employers will look for {v}, so give it a paragraph of its own.',
        asks: 'What will employers of a {s} look for, according to the assistant?',
      },
      {
        values: list('250 words, 300 words, 350 words, 400 words'),
        says: 'Keep the {s} letter below {v}.',
        says_bare: 'Keep the letter below {v}.',
        asks: 'How long may the {s} letter be, as the assistant said?',
      },
    ],
    filler: [
      'Read the {s} advertisement again and mark every verb in it.',
      'Ask somebody who knows the work of a {s} to read the draft aloud.',
    ],
    asks_when: 'When did I ask for help with the {s} application?',
    asks_all: 'Which positions have I applied for with the help of the assistant?',
  },
  {
    subjects: list('picnic, birthday dinner, hiking weekend, office lunch, brunch, street party'),
    opening: 'Help me with the food for a {s}, I have no idea what to cook.',
    told: [
      {
        values: list('six guests, nine guests, twelve guests, twenty guests, thirty guests'),
        says: 'There will be {v} at the {s}.',
        asks: 'How many guests will be at the {s}?',
        asks_otherwise: 'How big is the crowd I have to feed during the {s}?',
      },
      {
        values: list('no gluten, no pork, no dairy, no nuts, no eggs'),
        says: 'One of them at the {s} eats {v}.',
        asks: 'What is not eaten by one person at the {s}?',
        asks_otherwise: 'Which dietary restriction applies for the {s}?',
      },
    ],
    advice: [
      {
        values: list('chickpea salad, rice balls, vegetable tart, potato curry'),
        says: 'As the main dish of the {s} I suggest a {v}, which can be made the day before.',
        says_bare: 'As the main dish I suggest a {v}, which can be made the day before.',
        asks: 'Which main dish did the assistant suggest for the {s}?',
      },
      {
        values: list('poached pears, lemon sorbet, plum cake, coconut pudding'),
        says: 'For dessert at the {s}, {v} will please most people.',
        says_bare: 'For dessert, {v} will please most people.',
        asks: 'Which dessert did the assistant suggest for the {s}?',
      },
      {
        values: list('hibiscus tea, ginger lemonade, cold apple punch, mint water'),
        says: 'Serve {v} at the {s}, it needs no alcohol and can be mixed early.',
        says_bare: 'Serve {v}, it needs no alcohol and can be mixed early.',
        asks: 'Which drink did the assistant suggest for the {s}?',
      },
    ],
    filler: [
      'Write the shopping list for the {s} by the aisles of the shop, which saves half an hour.',
      'Count one and a half portions for each person at the {s}.',
    ],
    asks_when: 'When did I ask about the food for the {s}?',
    asks_all: 'For which occasions have I asked the assistant about food?',
  },
  {
    subjects: list('bathroom, kitchen, attic, balcony, cellar, garage, hallway'),
    opening: 'We are renovating the {s} and I would like to know what it takes.',
    told: [
      {
        values: list('3,000 euros, 5,500 euros, 8,000 euros, 12,000 euros, 15,000 euros'),
        says: 'We saved {v} for the {s}.',
        asks: 'How much have we saved for the {s}?',
        asks_otherwise: 'What is the budget of the {s} project?',
      },
      {
        values: list('mould, a cracked beam, wet plaster, old wiring, rust'),
        says: 'The builder found {v} in the {s}.',
        asks: 'What did the builder find in the {s}?',
        asks_otherwise: 'Which damage is there at the {s}?',
      },
    ],
    advice: [
      {
        values: list('cork, slate, larch, linoleum, terrazzo'),
        says: 'For the floor of the {s} I recommend {v}, which forgives uneven ground.',
        says_bare: 'For the floor I recommend {v}, which forgives uneven ground.',
        asks: 'Which floor did the assistant recommend for the {s}?',
      },
      {
        values: list('pale green, warm white, brick red, slate blue'),
        says: 'Paint the {s} in {v} to make it look larger.',
        says_bare: 'Paint the walls in {v} to make everything look larger.',
        asks: 'In which colour should the {s} be painted, according to the assistant?',
      },
      {
        values: list('electrician, structural engineer, plumber, carpenter'),
        says: 'Before anything else in the {s}, have it inspected by a {v}.',
        says_bare: 'Before anything else, call a {v} for an inspection.',
        asks: 'Who should inspect the {s} first, as the assistant said?',
      },
    ],
    filler: [
      'Put a fifth of the money for the {s} aside, because something always turns up.',
      'Ask for three written offers for the {s} and compare the same items.',
    ],
    asks_when: 'When did I ask about renovating the {s}?',
    asks_all: 'Which rooms have I asked the assistant about?',
  },
  {
    subjects: list('Italian, Finnish, Arabic, Polish, Korean, Greek, Swahili'),
    opening: 'I am learning {s} and keep losing motivation, please give me a plan.',
    told: [
      {
        values: list('fifteen minutes, twenty minutes, half an hour, an hour'),
        says: 'I can practise {s} for {v} a day.',
        asks: 'For how long can I practise {s} a day?',
        asks_otherwise: 'How much daily time did I set aside for {s}?',
      },
      {
        values: list('my in-laws, a conference, a choir tour, my new job, a summer school'),
        says: 'I need {s} because of {v}.',
        asks: 'Why do I need {s}?',
        asks_otherwise: 'What is my reason to learn {s}?',
      },
    ],
    advice: [
      {
        values: list('children books, radio plays, cooking videos, pop songs'),
        says: 'Begin every {s} session with {v}, so that the ear gets used to the sound.',
        says_bare: 'Begin every session with {v}, so that the ear gets used to the sound.',
        asks: 'With what should every {s} session begin, according to the assistant?',
      },
      {
        values: list('twelve words, eight words, twenty words, five words'),
        says: 'Do not learn more than {v} of {s} on one day.',
        says_bare: 'Do not learn more than {v} on one day.',
        asks: 'How much {s} vocabulary a day did the assistant allow?',
      },
      {
        values: list('tandem partner, evening group, private tutor, pen friend'),
        says: 'After the first month of {s}, find a {v}.',
        says_bare: 'After the first month, find a {v}.',
        asks: 'Whom should I find after the first month of {s}, as the assistant said?',
      },
    ],
    filler: [
      'Mistakes in {s} are a good sign, since they show that you try new things.',
      'Note at the end of the week what you understood in {s} without help.',
    ],
    asks_when: 'When did I ask for a plan to learn {s}?',
    asks_all: 'Which languages have I told the assistant I am learning?',
  },
  {
    subjects: list('roses, blueberries, a lawn, herbs, a hedge, pumpkins, a pond'),
    opening: 'I would like to have {s} in the garden, where do I begin?',
    told: [
      {
        values: list('full sun, half shade, deep shade, morning sun'),
        says: 'The spot for {s} lies in {v}.',
        asks: 'How much light does the spot for {s} get?',
        asks_otherwise: 'Is it bright or dark where I want to grow {s}?',
      },
      {
        values: list('clay, sand, gravel, peat, loam'),
        says: 'My soil for {s} is mostly {v}.',
        asks: 'What is my soil for {s} like?',
        asks_otherwise: 'Which kind of ground did I describe for {s}?',
      },
    ],
    advice: [
      {
        values: list('bone meal, oak leaf compost, lime, coarse bark'),
        says: 'Work some {v} into the bed for {s} before anything is planted.',
        says_bare: 'Work some {v} into the bed before anything is planted.',
        asks: 'What should be worked into the bed for {s}, as the assistant said?',
      },
      {
        values: list('late March, mid April, early October, late August'),
        says: 'The best time to start with {s} is {v}.',
        says_bare: 'The best time to start is {v}.',
        asks: 'When is the best time to start with {s}, according to the assistant?',
      },
      {
        values: list('marigolds, garlic, clover, lavender'),
        says: 'Next to {s}, {v} will keep most pests away.',
        says_bare: 'Next to it, {v} will keep most pests away.',
        asks: 'What did the assistant suggest next to {s} against pests?',
      },
    ],
    filler: [
      'Water {s} early in the day, so that the leaves are dry by noon.',
      'Draw a sketch of the place for {s} with the shadows at nine, noon and six.',
    ],
    asks_when: 'When did I ask about {s} in the garden?',
    asks_all: 'What have I wanted to have in the garden?',
  },
  {
    subjects: list('marathon, triathlon, alpine hike, rowing regatta, bike tour, swim meet'),
    opening: 'Please write a training plan for my {s}, I start from little.',
    told: [
      {
        values: list('eight weeks, ten weeks, fourteen weeks, five months'),
        says: 'The {s} is in {v}.',
        asks: 'In how many weeks or months is the {s}?',
        asks_otherwise: 'How much time is left before my {s}?',
      },
      {
        values: list('a weak knee, back pain, asthma, a stiff shoulder'),
        says: 'For the {s} I must be careful, I have {v}.',
        asks: 'Why must I be careful with the {s}?',
        asks_otherwise: 'Which health problem matters during the {s}?',
      },
    ],
    advice: [
      {
        values: list('three sessions, four sessions, five sessions, six short sessions'),
        says: 'Plan {v} a week for the {s} and never two hard ones in a row.',
        says_bare: 'Plan {v} a week and never two hard ones in a row.',
        asks: 'How many sessions a week did the assistant plan for the {s}?',
      },
      {
        values: list('hill repeats, planks, rope jumping, squats'),
        says: 'The most useful exercise for the {s} will be {v}.',
        says_bare: 'The most useful exercise will be {v}.',
        asks: 'Which exercise is most useful for the {s}, according to the assistant?',
      },
      {
        values: list('oat porridge, bananas, rice with egg, honey bread'),
        says: 'On the morning of the {s}, eat {v} and nothing new.',
        says_bare: 'On the morning of the event, eat {v} and nothing new.',
        asks: 'What should I eat on the morning of the {s}, as the assistant said?',
      },
    ],
    filler: [
      'Sleep is the part of the preparation for the {s} that most people forget.',
      'If you miss a day on the way to the {s}, go on as if it had not happened.',
    ],
    asks_when: 'When did I ask for the training plan for the {s}?',
    asks_all: 'For which events have I asked for a training plan?',
  },
]
