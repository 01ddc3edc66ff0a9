// The sample conversation of the demo: a person and an assistant on three evenings.

interface Turn {
  readonly speaker: 'Nadia' | 'assistant'
  readonly text: string
}

interface Session {
  readonly session_id: string
  readonly turns: readonly Turn[]
}

const session = (session_id: string, ...lines: readonly string[]): Session => ({
  session_id,
  turns: lines.map((text, i) => ({ speaker: i % 2 === 0 ? 'Nadia' : 'assistant', text })),
})

export const CONVERSATION: readonly Session[] = [
  session(
    'evening-1',
    'We are moving from Leipzig to Porto in the spring, and I need help to keep track of it all.',
    'Gladly. When do you have to be out of the flat in Leipzig?',
    'The lease ends on 31 March. The landlord wants the keys back by noon that day.',
    'Noted: keys by noon on 31 March. Who does the move itself?',
    'Castro Mudanças, a company from Porto. They come with the big van on 27 March.',
    'Then four days remain for cleaning. What must not go into the van?',
    'The piano. It is my grandmother’s upright and needs a piano mover and a tuner afterwards.',
    'I will remember that the upright piano travels separately.',
    'Our budget for everything is 6,500 euros, and the van alone is 3,900.',
    'That leaves 2,600 euros for the piano, the flights and the first weeks.',
  ),
  session(
    'evening-2',
    'My brother Elias Brandt can store the piano. His number is +49 341 5550142.',
    'Shall I put him down as the contact for the piano?',
    'Yes. He has a bad back since his operation, so two people must come to lift it.',
    'Two people for the piano, then. Have you found a school for Mila?',
    'Mila starts at the school in Rua do Heroísmo on 14 April, in the second class.',
    'And the cat?',
    'Biscuit flies with me in the cabin, TAP allows 8 kilograms with the carrier.',
    'Does Biscuit have a passport and a rabies vaccination older than 21 days?',
    'Vaccinated on 2 February, the passport is with Dr. Okafor, our vet.',
    'Then Biscuit may fly from 23 February on.',
  ),
  session(
    'evening-3',
    'The flight is booked: 29 March, 10:40 from Berlin, two seats and the cat.',
    'That is before the keys are due. Who returns them on the 31st?',
    'My neighbour Frau Sommer hands the keys over, she has the spare set.',
    'Good. Is there anything you cannot eat that I should tell the caterer of the farewell?',
    'Peanuts: I am allergic. And Mila eats no fish.',
    'Peanuts and fish are out. How many guests?',
    'Eighteen, on 22 March at the allotment, from three in the afternoon.',
    'Eighteen guests on 22 March at three.',
    'I would like coffee rather than tea for everyone, and a vegetarian option.',
    'Coffee and a vegetarian option. I will ask the caterer for an offer.',
  ),
]

/** The correction: a part of the turn it replaces, and the new text. */
export const CORRECTION = {
  replaces: 'They come with the big van on 27 March',
  text: 'Castro Mudanças come with the big van on 26 March, a day earlier than planned.',
  question: 'On which day does the moving company come with the van?',
} as const

/** The erasure: a part of the turn to erase, and texts that must not be found afterwards. */
export const TO_ERASE = {
  holds: 'His number is +49 341 5550142',
  words: ['+49 341 5550142', '5550142', 'Elias Brandt'],
  question: 'Whom do I call about the piano, and at which number?',
} as const
