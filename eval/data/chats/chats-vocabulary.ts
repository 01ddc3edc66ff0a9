// Names and filler of the chats set: small talk, replies, abbreviations, two more languages.

/** People who ask to be called by a short name. */
export const NICKNAMES: readonly (readonly [name: string, short: string])[] = [
  ['Beatrix', 'Bea'],
  ['Katarina', 'Kat'],
  ['Alexander', 'Lex'],
  ['Nikolai', 'Niko'],
  ['Theodora', 'Teddy'],
  ['Josephine', 'Jo'],
  ['Sebastian', 'Seb'],
  ['Gabriela', 'Gabi'],
  ['Jonathan', 'Jon'],
  ['Valentina', 'Val'],
]

export const RELATIVES: readonly (readonly [relation: string, name: string])[] = [
  ['sister', 'Ana'],
  ['brother', 'Tom'],
  ['cousin', 'Rafi'],
  ['flatmate', 'Lou'],
  ['grandma', 'Hilde'],
  ['boss', 'Carmen'],
  ['uncle', 'Bert'],
  ['neighbour', 'Sunil'],
]

/** Friends who are spoken of and never write. */
export const FRIENDS: readonly (readonly [name: string, pronoun: string])[] = [
  ['Milo', 'He'],
  ['Paula', 'She'],
  ['Viktor', 'He'],
  ['Sanne', 'She'],
  ['Emre', 'He'],
  ['Judith', 'She'],
  ['Colin', 'He'],
  ['Aisha', 'She'],
]

export const ALIAS_INTRODUCTIONS = ['Call me {a}, everybody does.', 'Just call me {a} please.']
export const RELATIVE_INTRODUCTIONS = [
  'My {r} {a} is staying with us this week.',
  'This is my {r} {a} in the photo.',
]
export const PASSED_ITEMS = 'projector, cool box, camping stove, guest list, bike pump'.split(', ')

export const LEAD_INS = [
  'hey',
  'oh by the way',
  'ok so',
  'oh my god',
  'listen',
  'before I forget',
  'random but',
  'anyway',
  'so',
  'news!',
]

/** Before what an acquaintance said in the first person; nobody is asked about them. */
export const QUOTES = [
  'my colleague wrote:',
  'a friend of mine said:',
  'the guy from the gym goes:',
  'my dentist told me:',
  'somebody on the bus said:',
  'my aunt posted:',
]

export const QUESTION_LEADS = ['Does anybody know?', 'Quick question.', 'I forgot.']

export const REPLIES = [
  'lol',
  'haha',
  'no way',
  'really?',
  'nice!',
  'omg',
  'ok',
  'same',
  'wow',
  'oh no',
  'love that',
  'poor you',
  'tell me more',
  'me too',
  'she said that too',
  'he will love it',
  'they never do',
  'I know right',
  'what happened then?',
  'congrats!',
  'ugh',
  'hm not sure',
  'sounds good',
  'who told you?',
  'that is so you',
  'finally',
]

/** Small talk in the style of messages; `{f}` a food, `{t}` a thing, `{d}` a place of every day. */
export const CHATTER = [
  'I am at the {d}. Do you need anything?',
  'Running late, five minutes. Please start without me.',
  'Where are you? I am in front of the {d}.',
  'I could eat {f} right now. Or two of them.',
  'Can somebody send me the photo of the {t}? I deleted mine.',
  'The {t} is making that noise again. I really cannot sleep.',
  'Does anybody want my old {t}? It still works, mostly.',
  'It is so hot here. I am living on {f}.',
  'Tonight? I am too tired, to be honest. Tomorrow maybe.',
  'They closed the {d} early again. Nobody told us.',
  'I forgot the {t} at home. Again.',
  'There was a queue at the {d} all the way to the corner.',
  'Who ate my {f}? It had my name on it.',
  'You were right about the {d}. Too many people.',
  'My phone is at two percent. If I am gone, that is why.',
  'I dreamed about {f}. What does that mean?',
  'See you at the {d} then. Bring a jacket.',
  'The bus did not come. So I walked, in the rain.',
  'Thanks for yesterday! It was really nice.',
  'I have something to tell you, but not here. Later.',
  'We are out of {f}. Could you get some on the way?',
  'This {t} cost more than my shoes. And it is ugly.',
  'Are we still on for the weekend? I need to know because of the {d}.',
  'Sorry, I was in the shower. What did I miss?',
  'I am so done with this week. Send {f}.',
  'The people from the {d} called. They want you to call back.',
  'Did you feed the fish? I had a bad feeling all day.',
  'My neighbour is singing again. With a {t}, I think.',
  'Pick me up at the {d} please. I cannot walk in these shoes.',
  'I tried to fix the {t}. Now there are three screws left over.',
]

export const FOODS =
  'pizza, pancakes, dumplings, ice cream, noodles, cheese toast, a burrito, soup, cake'.split(', ')
export const THINGS =
  'lamp, printer, fan, blender, vacuum, chair, radio, suitcase, mirror, clock'.split(', ')
export const EVERYDAY_PLACES =
  'library, gym, bakery, post office, station, pharmacy, market, pool, laundrette'.split(', ')

export const CHATTER_DE = [
  'Ich bin gleich da. Fünf Minuten noch.',
  'Hat jemand Hunger? Ich koche heute Abend.',
  'Oh Mann, der Zug hat schon wieder Verspätung.',
  'Weiß ich noch nicht. Ich sage dir morgen Bescheid.',
  'Kannst du mich bitte kurz anrufen? Es ist wichtig.',
  'Schönes Wochenende euch allen!',
  'Das glaube ich dir nicht. Zeig mal ein Foto.',
  'Ich habe keine Lust mehr. Wann ist endlich Feierabend?',
  'Bei uns regnet es seit gestern. Und bei euch?',
  'Gute Nacht, ich kann nicht mehr.',
]

export const CHATTER_ES = [
  'Ya casi llego. Cinco minutos más.',
  '¿Alguien tiene hambre? Hoy cocino yo.',
  'Madre mía, el tren llega tarde otra vez.',
  'Todavía no lo sé. Mañana te digo algo.',
  '¿Me puedes llamar un momento? Es importante.',
  '¡Buen fin de semana a todos!',
  'No me lo creo. Manda una foto.',
  'No puedo más con esta semana. ¿Cuándo salimos?',
  'Aquí llueve desde ayer. ¿Y ahí?',
  'Buenas noches, estoy muerta de sueño.',
]

/** Longer forms first, so that a phrase is found before its parts. */
export const ABBREVIATIONS: readonly (readonly [long: string, short: string])[] = [
  ['by the way', 'btw'],
  ['to be honest', 'tbh'],
  ['oh my god', 'omg'],
  ['right now', 'rn'],
  ['see you', 'cu'],
  ['I know right', 'ikr'],
  ['tomorrow', 'tmrw'],
  ['yesterday', 'yday'],
  ['tonight', '2nite'],
  ['weekend', 'wknd'],
  ['birthday', 'bday'],
  ['because', 'cuz'],
  ['something', 'smth'],
  ['somebody', 'sb'],
  ['please', 'pls'],
  ['people', 'ppl'],
  ['really', 'rly'],
  ['thanks', 'thx'],
  ['favourite', 'fav'],
  ['minutes', 'min'],
  ['your', 'ur'],
  ['you', 'u'],
  ['are', 'r'],
]

/** Sentences of any answer of the assistant. */
export const ANSWER_FILLER = [
  'That is a good question, and there is more than one way to go about it.',
  'Here is an approach that works for most people; adapt it to your own situation.',
  'Start small, see what happens, and only then decide on the next step.',
  'It helps to write things down, because memory is less reliable than it feels.',
  'I would not spend money on tools before the first attempt.',
  'Set aside a fixed time for it and protect that time from other plans.',
  'If something is unclear, ask an expert early rather than late.',
  'A simple checklist prevents most of the usual mistakes.',
  'Some people prefer to do it the other way round, which is fine as well.',
  'Make sure that everybody involved knows who decides in the end.',
  'Keep receipts and notes in one place, so that you find them again.',
  'There are many opinions on this on the internet, and few of them are tested.',
  'Take a break when you notice that you are going in circles.',
  'The details matter less than doing it regularly.',
  'Expect the first version to be imperfect and plan time for a second one.',
  'You can skip this step if you have done something similar before.',
  'Measure before and after, otherwise you cannot tell what made the difference.',
  'As a rule of thumb, double the time you think it takes.',
  'A friend who has been through it can save you days of reading.',
  'None of this has to be perfect on the first day.',
  'If you are short of time, do the first two points and leave the rest.',
  'It is worth looking at a few examples before you decide.',
  'Small and regular steps beat one large effort.',
  'Write down the reasons for your choice, you will forget them sooner than you think.',
  'When two options look equal, take the cheaper one and see how far it carries you.',
  'Look at the weather, the calendar and your energy before you fix a day.',
  'The order of the steps is more important than their speed.',
  'You might meet resistance at first, which usually passes.',
  'Think about what could go wrong and what you would do then.',
  'Most of the effort goes into preparation and little into the work itself.',
]

export const ANSWER_HEADINGS = ['### Overview', '### First steps', '### Details', '### What next']

export const ANSWER_ENDINGS = [
  'Let me know how it goes, and we can adjust the plan together.',
  'Would you like me to turn this into a table?',
  'Tell me which part you want to look at more closely.',
]

/** What the person says in between. */
export const USER_FILLER = [
  'thanks, that helps',
  'ok let me think about it',
  'hm. can you make it shorter?',
  'great, I will try that',
  'not sure I get the second point',
  'wait, my phone rings',
  'ok and what else?',
]

/** What the person adds to a request. */
export const USER_PADDING = [
  'I have read three articles about it and they all say something else.',
  'My partner says I worry too much.',
  'I do not have much experience with this, so please keep it simple.',
  'Last time I tried something like it, it ended badly.',
  "I'd rather spend time than money.",
  'You can ask me questions if something is missing.',
  "I'm on my phone, so no tables please.",
  'A colleague told me to ask you, because she got good advice.',
  "I know it's a lot at once, sorry.",
  "There's no hurry, but I like to know what is ahead of me.",
]
