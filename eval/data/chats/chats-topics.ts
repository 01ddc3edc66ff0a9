// What people of the chats set tell each other, and how one may ask for it.

const list = (values: string): string[] => values.split(', ')

/**
 * A thing told once by a person. `{v}` is the value, `{p}` the person. In `split` every text is a
 * message of its own; `~` marks those that are no evidence.
 */
export interface ChatTopic {
  readonly values: readonly string[]
  readonly says: readonly string[]
  readonly split: readonly string[]
  readonly asks: string
  /** In other words than `says`. */
  readonly asks_otherwise: string
  /** The statement and the question in another language. */
  readonly de?: readonly [says: string, asks: string]
  readonly es?: readonly [says: string, asks: string]
}

/** Topics with an even index are used in one fold, the others in the other. */
export const TOPICS: readonly ChatTopic[] = [
  {
    values: list('peanuts, shellfish, mustard, sesame, celery, strawberries, kiwi, hazelnuts'),
    says: ["The test came back, I'm allergic to {v}.", "Turns out I'm allergic to {v}."],
    split: ['~The doctor just called.', 'So I really am allergic.', "It's {v}, of all things."],
    asks: 'What is {p} allergic to?',
    asks_otherwise: 'Which food should {p} not be served?',
  },
  {
    values: list('Lyon, Graz, Utrecht, Leeds, Turin, Basel, Cork, Brno, Faro, Riga'),
    says: ['I got the job in {v}, I start soon.', 'They called, I got the job in {v}.'],
    split: ['~Guess what!', 'I got the job!', 'The one in {v}.'],
    asks: 'Where is the job that {p} got?',
    asks_otherwise: 'In which town will {p} be employed?',
    de: ['Ich habe die Stelle in {v} bekommen.', 'In welcher Stadt hat {p} eine Stelle bekommen?'],
    es: ['Me han dado el trabajo en {v}.', '¿En qué ciudad le han dado trabajo a {p}?'],
  },
  {
    values: list('Biscuit, Pepper, Waffle, Comet, Juno, Sprout, Bandit, Mochi, Nutmeg'),
    says: ['The puppy is here and his name is {v}.', 'We got the puppy, his name is {v}.'],
    split: ['~Look who moved in.', 'We got a puppy!', 'His name is {v}.'],
    asks: "What is the name of {p}'s puppy?",
    asks_otherwise: "What do they call the dog at {p}'s place?",
    de: ['Der Welpe ist da, er heißt {v}.', 'Wie heißt der Welpe von {p}?'],
    es: ['Ya está aquí el cachorro, se llama {v}.', '¿Cómo se llama el cachorro de {p}?'],
  },
  {
    values: list('red Volvo, silver Skoda, green Fiat, black Mazda, white Seat, blue Subaru'),
    says: ['I bought a car at last, a used {v}.', 'Bought a car today, a {v}.'],
    split: ['~You will not believe this.', 'I bought a car.', 'A {v}, the price was good.'],
    asks: 'Which car did {p} buy?',
    asks_otherwise: 'What does {p} drive?',
  },
  {
    values: list('Mill Lane, Harbour Street, Elm Road, Station Square, Castle Hill, Orchard Way'),
    says: ['We signed the lease for the flat on {v}.', 'I signed the lease, the flat on {v}.'],
    split: ['~So, big news.', 'We signed the lease.', "It's the flat on {v}."],
    asks: 'On which street is the flat that {p} signed the lease for?',
    asks_otherwise: 'Where does {p} live now?',
  },
  {
    values: list('cello, clarinet, accordion, harp, trombone, banjo, oboe, mandolin, drum'),
    says: ['I started {v} lessons with a teacher nearby.', 'Started taking {v} lessons.'],
    split: ["~Don't laugh.", 'I started lessons.', '{v} lessons, with a real teacher.'],
    asks: 'Which lessons did {p} start?',
    asks_otherwise: 'What instrument is {p} learning to play?',
  },
  {
    values: list('umbrella, backpack, gym bag, blue scarf, sketchbook, water bottle, camera'),
    says: ['I left my {v} on the train.', 'I think I left my {v} on the train this morning.'],
    split: ['~Worst day ever.', 'I left something on the train.', "My {v}, it's gone."],
    asks: 'What did {p} leave on the train?',
    asks_otherwise: "Which of {p}'s belongings got lost?",
  },
  {
    values: list('wrist, ankle, collarbone, little finger, elbow, big toe, nose, thumb'),
    says: ['I slipped on the stairs and broke my {v}.', 'Fell down the stairs, broke my {v}.'],
    split: ['~Greetings from the hospital.', 'I fell down the stairs.', 'My {v} is broken.'],
    asks: 'What did {p} break on the stairs?',
    asks_otherwise: 'Which injury does {p} have?',
  },
  {
    values: list('1.014, 2.207, 3.118, 4.025, 5.310, 2.119, 1.226, 6.003'),
    says: ['My new desk is in room {v}.', 'They moved my desk to room {v}.'],
    split: ['~We moved to the new building.', 'I have a desk by the window.', "It's room {v}."],
    asks: "In which room is {p}'s desk?",
    asks_otherwise: 'Where can one find {p} at the office?',
    de: [
      'Mein Schreibtisch steht jetzt in Raum {v}.',
      'In welchem Raum steht der Schreibtisch von {p}?',
    ],
    es: ['Mi mesa está ahora en la sala {v}.', '¿En qué sala está la mesa de {p}?'],
  },
  {
    values: list(
      'telescope, chess set, fountain pen, bread oven, kite, wool blanket, record player',
    ),
    says: ['My aunt gave me a {v} for my birthday.', 'I got a {v} from my aunt for my birthday.'],
    split: ['~My aunt is the best.', 'She brought a huge birthday box.', 'A {v} was inside.'],
    asks: 'What did {p} get from the aunt for the birthday?',
    asks_otherwise: 'Which present did {p} receive from a relative?',
  },
  {
    values: list('pottery, Portuguese, photography, astronomy, carpentry, salsa, bookkeeping'),
    says: ['I signed up for the {v} class on Tuesdays.', 'I signed up for a {v} class.'],
    split: ['~I finally did it.', 'I signed up for a class.', '{v}, every Tuesday.'],
    asks: 'Which class did {p} sign up for?',
    asks_otherwise: 'What is {p} studying after work?',
  },
  {
    values: list('driving, chemistry, nursing, sailing, first aid, hunting, forklift, radio'),
    says: ['I passed the {v} exam.', 'The letter is here, I passed my {v} exam.'],
    split: ['~I was so nervous.', 'But I passed!', 'The {v} exam is behind me.'],
    asks: 'Which exam did {p} pass?',
    asks_otherwise: 'What test did {p} succeed in?',
  },
  {
    values: list(
      'Casa Verde, The Copper Pot, Lotus Garden, Blue Fig, La Paloma, Old Harbour Grill',
    ),
    says: ['My favourite restaurant is {v} now.', '{v} is my new favourite restaurant.'],
    split: ['~Best evening in months.', 'I have a new favourite restaurant.', '{v}, by the park.'],
    asks: "What is {p}'s favourite restaurant?",
    asks_otherwise: 'Where does {p} like to eat out most?',
    de: ['Mein Lieblingslokal ist jetzt {v}.', 'Wie heißt das Lieblingslokal von {p}?'],
    es: ['Mi restaurante favorito es ahora {v}.', '¿Cuál es el restaurante favorito de {p}?'],
  },
  {
    values: list('Seaview, Montana, Belmond House, Aurora Lodge, Three Oaks, Villa Flora'),
    says: ['I booked the hotel {v} for us.', 'The hotel is booked, it is called {v}.'],
    split: ['~One thing less to do.', 'I booked the hotel.', "It's the {v}."],
    asks: 'Which hotel did {p} book?',
    asks_otherwise: 'Where did {p} reserve a place to sleep?',
    de: ['Ich habe das Hotel {v} gebucht.', 'Welches Hotel hat {p} gebucht?'],
    es: ['He reservado el hotel {v}.', '¿Qué hotel ha reservado {p}?'],
  },
  {
    values: list('rowing, fencing, archery, climbing, badminton, judo, orienteering, handball'),
    says: ['I joined the {v} club down the road.', 'I joined a {v} club last month.'],
    split: ['~New year, new me.', 'I joined a club.', "It's {v}, can you imagine?"],
    asks: 'Which club did {p} join?',
    asks_otherwise: 'What sport does {p} do?',
  },
  {
    values: list('Salt Harbour, The Ninth Floor, Paper Kings, Northern Quiet, Glass Valley'),
    says: ["I'm watching {v} and I can't stop.", 'Started watching {v} on Sunday.'],
    split: ["~I haven't slept.", 'I started watching something.', "It's {v}, watch it."],
    asks: 'What is {p} watching?',
    asks_otherwise: 'Which series is {p} hooked on?',
    de: ['Ich schaue gerade {v} und kann nicht aufhören.', 'Was schaut {p} gerade?'],
    es: ['Estoy viendo {v} y no puedo parar.', '¿Qué está viendo {p}?'],
  },
  {
    values: list('Romy, Alma, Lotte, Ida, Freya, Noemi, Tilda, Mara'),
    says: ["My brother's baby is called {v}.", "They named my brother's baby {v}."],
    split: ["~I'm an aunt now, sort of.", "My brother's baby is here.", 'They named her {v}.'],
    asks: "What is the name of the baby of {p}'s brother?",
    asks_otherwise: "How should one address {p}'s little niece?",
    de: ['Das Baby von meinem Bruder heißt {v}.', 'Wie heißt das Baby des Bruders von {p}?'],
    es: ['El bebé de mi hermano se llama {v}.', '¿Cómo se llama el bebé del hermano de {p}?'],
  },
  {
    values: list('tomatoes, basil, chillies, beans, sunflowers, mint, radishes, lettuce'),
    says: ['I planted {v} on the balcony.', 'Planted some {v} on my balcony today.'],
    split: ['~My hands are all dirty.', 'I planted the balcony boxes.', '{v} this time.'],
    asks: 'What did {p} plant on the balcony?',
    asks_otherwise: 'Which crop does {p} grow at home?',
  },
  {
    values: list('180 euros, 240 euros, 95 euros, 310 euros, 130 euros, 420 euros, 275 euros'),
    says: ['The plumber charged me {v}.', 'The plumber was here and charged {v}.'],
    split: ['~I am in the wrong business.', 'The plumber sent the bill.', '{v} for one hour.'],
    asks: 'How much did the plumber charge {p}?',
    asks_otherwise: 'What did {p} pay to have the pipes repaired?',
  },
  {
    values: list('flower pot, doormat, garden gnome, red brick, watering can, wooden bench'),
    says: ['The spare key is under the {v}.', 'I put the spare key under the {v}.'],
    split: ['~If you get there before me.', 'I hid the spare key.', 'Look under the {v}.'],
    asks: "Where is {p}'s spare key?",
    asks_otherwise: 'How does a guest open the door when {p} is out?',
  },
  {
    values: list('nutmeg, miso, orange peel, smoked salt, ginger, fennel, white wine, dill'),
    says: ['The secret of my soup is {v}.', 'Fine, the secret in my soup is {v}.'],
    split: ['~Promise not to tell.', 'You asked about my soup.', "The secret is {v}, that's all."],
    asks: "What is the secret of {p}'s soup?",
    asks_otherwise: 'Which ingredient does {p} add when cooking broth?',
  },
  {
    values: list('ladder, drill, tent, wheelbarrow, sewing machine, projector, roof rack'),
    says: ['I borrowed the {v} from my neighbour.', 'My neighbour let me borrow the {v}.'],
    split: ['~Problem solved.', 'I borrowed one from my neighbour.', 'The {v}, I mean.'],
    asks: 'What did {p} borrow from the neighbour?',
    asks_otherwise: 'Which item must {p} give back next door?',
  },
  {
    values: list('payments, design, support, logistics, research, training, security, legal'),
    says: ["I'm moving to the {v} team in spring.", 'From spring on I am in the {v} team.'],
    split: ['~My boss said yes.', 'I can change teams in spring.', 'The {v} team it is.'],
    asks: 'Which team is {p} moving to in spring?',
    asks_otherwise: 'What department will {p} work for next?',
  },
  {
    values: list('swallow, compass, fern, whale, lighthouse, fox, crescent moon, anchor'),
    says: ['I got a tattoo of a {v}.', 'The tattoo is done, a small {v}.'],
    split: ['~Mum is going to kill me.', 'I got a tattoo.', 'A {v}, not even big.'],
    asks: 'What tattoo did {p} get?',
    asks_otherwise: 'Which picture does {p} have on the skin?',
  },
]

/** Things told several times with other values; by one person where the question names `{p}`. */
export const LISTS: readonly {
  values: readonly string[]
  says: readonly string[]
  asks: readonly string[]
  /** Asks for those of a month or season `{m}`. */
  asks_in?: string
}[] = [
  {
    values: list('Red Lantern, The Long Shore, Winter Train, Two Moons, Copper Sky, Last Ferry'),
    says: ['Saw the film {v}.', 'We saw {v}, good film.', 'The film {v} was so sad.'],
    asks: ['Which films has {p} seen?', 'Name all the films {p} talked about.'],
    asks_in: 'Which films did {p} see in {m}?',
  },
  {
    values: list(
      'Hollow Hill, The Salt Road, Nine Winters, Paper Boats, The Clockmaker, Deep Roots',
    ),
    says: ['Finished the book {v}.', 'Just read {v}, great book.', '{v} is a strange book.'],
    asks: ['Which books has {p} read?', 'How many books has {p} read, and which?'],
    asks_in: 'Which books did {p} read in {m}?',
  },
  {
    values: list('lentil soup, fish tacos, gnocchi, ramen, shakshuka, mushroom risotto, pierogi'),
    says: ['Cooked {v} tonight.', 'I cooked {v} for everyone.', 'My {v} turned out great.'],
    asks: ['Which dishes has {p} cooked?', 'List all the meals {p} has made.'],
    asks_in: 'Which dishes did {p} cook in {m}?',
  },
  {
    values: list('Ghent, Porto, Bergen, Tallinn, Galway, Matera, Split, Trieste'),
    says: ['I went to {v} for a day.', '{v} was so lovely.', 'We took the train to {v}.'],
    asks: ['Which towns has {p} been to?', 'All the trips {p} has taken: where to?'],
    asks_in: 'Which towns did {p} go to in {m}?',
  },
  {
    values: list('potato salad, speakers, paper cups, grill, ice cubes, guitar, folding chairs'),
    says: ["I'll bring the {v} to the party.", 'I can bring {v} for the party.'],
    asks: ['What has been promised for the party?', 'Which things will people bring to the party?'],
  },
  {
    values: list('garden hose, cookbook, hammock, wine glasses, puzzle, bird feeder, raincoat'),
    says: ['We could get dad a {v}.', 'What about a {v} for dad?', 'Dad would like a {v}.'],
    asks: ['Which gift ideas came up for dad?', 'What are all the suggestions for a gift for dad?'],
  },
  {
    values: list(
      'dishwasher, doorbell, washing machine, bathroom light, toaster, radiator, blinds',
    ),
    says: ['The {v} is broken.', 'Now the {v} has stopped working.', 'My {v} died today.'],
    asks: ["Which things have broken at {p}'s place?", 'List everything of {p} that broke.'],
    asks_in: "What broke at {p}'s place in {m}?",
  },
  {
    values: list('The Velvet Foxes, Iron Orchard, Sunday Static, Harbour Lights, Mono Lake, Kites'),
    says: ['{v} played live and I was there.', 'I saw {v} live, wow.', 'The {v} concert was loud.'],
    asks: ['Which bands has {p} seen live?', 'How many concerts has {p} been to, and of whom?'],
    asks_in: 'Which bands did {p} see live in {m}?',
  },
]

/** Events told with a date: `{w}` is "yesterday", "on 7 May" and the like. */
export const EVENTS: readonly (readonly [says: string, asks: string])[] = [
  ['I went to the dentist {w}.', 'When did {p} go to the dentist?'],
  ['My bike got stolen {w}.', "When was {p}'s bike stolen?"],
  ['I handed in my thesis {w}.', 'When did {p} hand in the thesis?'],
  ['We adopted a cat {w}.', 'When did {p} adopt a cat?'],
  ['I ran my first half marathon {w}.', 'When did {p} run the first half marathon?'],
  ['I quit smoking {w}.', 'When did {p} quit smoking?'],
  ['I cut my hair short {w}.', 'When did {p} cut the hair short?'],
  ['I gave blood {w}.', 'When did {p} give blood?'],
  ['I sold my old sofa {w}.', 'When did {p} sell the old sofa?'],
  ['We painted the kitchen {w}.', 'When did {p} paint the kitchen?'],
  ['I got a parking ticket {w}.', 'When did {p} get a parking ticket?'],
  ['I met my old teacher {w}.', 'When did {p} meet the old teacher?'],
]

/** The same of what is still to come. */
export const PLANS: readonly (readonly [says: string, asks: string])[] = [
  ['I have the job interview {w}.', 'When is the job interview of {p}?'],
  ['The movers come {w}.', 'When do the movers come to {p}?'],
  ['I fly home {w}.', 'When does {p} fly home?'],
  ['My knee surgery is {w}.', 'When is the knee surgery of {p}?'],
]

/** News of a third person; `{a}` is whatever the person is called. */
export const NEWS: readonly { values: readonly string[]; says: string; asks: string }[] = [
  {
    values: list('ham, bicycle, coffee machine, weekend trip, teddy bear'),
    says: '{a} won a {v} at the raffle.',
    asks: 'What did {p} win at the raffle?',
  },
  {
    values: list('moths, lifts, clowns, deep water, geese'),
    says: '{a} is scared of {v}.',
    asks: 'What is {p} scared of?',
  },
  {
    values: list('violin, stamp album, wedding dress, love letter, helmet'),
    says: '{a} found an old {v} in the attic.',
    asks: 'What did {p} find in the attic?',
  },
  {
    values: list('vinyl records, postcards, teapots, beach stones, maps'),
    says: '{a} collects {v}.',
    asks: 'What does {p} collect?',
  },
  {
    values: list('pilot, baker, judge, firefighter, geologist'),
    says: '{a} wants to become a {v}.',
    asks: 'What does {p} want to become?',
  },
  {
    values: list('snake, parrot, hedgehog, ferret, tortoise'),
    says: '{a} keeps a {v} in the living room.',
    asks: 'What animal does {p} keep in the living room?',
  },
]
