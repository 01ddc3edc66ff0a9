// Names and values of the synthetic set, and the small talk its facts are hidden in.

export const FIRST_NAMES = (
  'Anna Boris Clara Dmitri Elena Felix Greta Hugo Ines Jonas Katja Leon Mira Nikolai Olga Pavel ' +
  'Rosa Stefan Tessa Ulrich Vera Walter Yara Zoltan Amara Bruno Celia Dario Edith Farid Gwen ' +
  'Hakim Irina Jorge Kenji Lucia Marek Nadia Oscar Priya'
).split(' ')

export const LAST_NAMES = (
  'Adler Berger Castell Dorn Eriksen Falk Gruber Hansen Ivanov Jensen Keller Lindner Moreau ' +
  'Novak Okafor Petrov Quist Rossi Sander Tanaka Urban Vogel Winter Yilmaz Zeman Abbasi Brandt ' +
  'Costa Duarte Engel Fontaine Grimaldi'
).split(' ')

export const PLACES = (
  'Lisbon Kyoto Tallinn Marrakesh Bergen Porto Ljubljana Valparaiso Hanoi Cusco Reykjavik ' +
  'Tbilisi Ghent Sarajevo Windhoek Oaxaca Matera Galway Jaipur Plovdiv Zanzibar Bruges ' +
  'Trieste Kazan Nairobi Wellington Uppsala Split Cardiff Muscat'
).split(' ')

export const PROJECTS = (
  'Aurora Bluefin Cedar Dynamo Ember Falcon Granite Heron Indigo Juniper Kestrel Lantern ' +
  'Meridian Nimbus Onyx Pinnacle'
).split(' ')

export const OPENERS = [
  '',
  '',
  '',
  'By the way, ',
  'Good news: ',
  'You will not believe it, but ',
  'Before I forget, ',
  'Just so you know, ',
]

export const TAILS = [
  '',
  '',
  '',
  ' I am still getting used to it.',
  ' It took a while, but it is done.',
  ' My family was surprised.',
  ' We should talk about it over coffee.',
  ' I wanted you to hear it from me.',
]

/** Turns that state nothing anybody is asked about; `{p}` is another person. */
export const SMALL_TALK = [
  'How have you been since we last spoke, {p}?',
  'That sounds wonderful, {p}! Tell me more when we meet.',
  'The weather has been grey all week and I miss the sun.',
  'Did you see the match on television last night, {p}?',
  'I am so tired, the train was late again this morning.',
  'Thanks for listening, {p}, it means a lot to me.',
  'My laptop froze twice during the call, sorry about that.',
  'We should plan a dinner soon, maybe downtown.',
  'I keep losing my keys, it is getting ridiculous.',
  'Happy to hear that, {p}. You deserve it.',
  'There is a street market on Sunday, do you want to come along?',
  'I have been thinking about trying something new, no idea what.',
  'Nearly everybody is on holiday, so it is quiet here.',
  'The meeting dragged on for hours and nothing was decided.',
  'My grandmother sent me a postcard, she writes so beautifully.',
  'I cooked too much again, come over if you are hungry, {p}.',
  'Let us not talk about stress today, please.',
  'I watched a documentary about whales and cried a little.',
  'The kids were loud, the neighbours complained, the usual story.',
  'Are you free on Thursday, {p}? I have two tickets for the concert.',
  'I finally cleaned the cellar and found our old photographs.',
  'They are digging up our street again, the noise is terrible.',
  'You always know what to say, {p}.',
  'My phone battery dies by noon, I need a new one.',
  'I tried the bakery you mentioned and the bread is excellent.',
  'It is raining cats and dogs and I forgot my umbrella.',
  'How is your mother doing, {p}? Please give her my regards.',
  'I slept badly, the moon was so bright.',
  'The heating is broken and I am wearing two sweaters.',
  'What a week! I am glad it is Friday.',
  'Sorry for the late answer, {p}, I was buried in paperwork.',
  'The coffee machine gave up and morale is low.',
  'I saw a rainbow over the harbour this morning.',
  'You would have laughed, {p}, I locked myself out again.',
  'My tomatoes are finally ripe, remind me to bring you some.',
  'I am trying to drink less coffee and it is not going well.',
  'The museum was crowded but worth it.',
  'Did the parcel arrive, {p}? I posted it a week ago.',
  'I forgot my password for the third time this month.',
  'We had pancakes for breakfast, a small luxury.',
  'There was a power cut and we played cards by candlelight.',
  'I miss the sea, {p}, do you remember that summer?',
  'My shoes are soaked and so is my mood.',
  'Our neighbours had twins, you can hear them through the wall.',
  'I have nothing to wear for the wedding.',
  'That joke of yours still makes me smile, {p}.',
]

/** Turns in the words of what is asked, about nobody one asks for; each is said by two people. */
export const NEAR_MISSES = [
  'I read an article about people who move to another city, quite interesting.',
  'Somebody told me a funny story about a man who bought a car without wheels.',
  'I could not sleep because the dog next door kept barking.',
  'The office was so cold that everybody worked in the kitchen.',
  'A leader of a big project gave a talk, I understood half of it.',
  'Somebody left a birthday cake in the kitchen, nobody knows whose gift it is.',
  'There is an evening course for everything these days.',
  'The school on our corner is being painted yellow.',
  'My uncle is allergic to Mondays, or so he says.',
  'I nearly broke the vase on the stairs.',
  'I never finish a book any more, I fall asleep on page two.',
  'A chess club meets in the cafe where I have lunch.',
  'I heard somebody practise an instrument at midnight, very badly.',
  'Honestly, I would love to visit more places, but there is never time.',
  'The budget of the city is a mess, it was in the news.',
  'My favourite dish was sold out, so I had a salad.',
]
