// Context words in one table, which is looked up while a text is read.

/** Words by role. A role is what a word indicates about its neighbours; a word may have several. */
const WORDS = {
  aadhaar: 'aadhaar aadhar uidai uid',
  abn: 'abn business',
  account: 'account acct konto konta compte cuenta conto checking savings deposit bank iban',
  acn: 'acn company',
  birth: 'birth birthday dob born geboren geburtsdatum birthdate',
  card:
    'card cards cc creditcard credit debit visa mastercard amex maestro discover diners jcb ' +
    'kreditkarte karte carte tarjeta carta cartao kaart cvv cvc',
  de_id: 'personalausweis ausweis ausweisnummer identity perso',
  health: 'krankenversicherung versichertennummer krankenversichertennummer kvnr gesundheitskarte',
  license: 'license licence licenses licences driver drivers driving dl fuhrerschein permis',
  medicare: 'medicare',
  nhs: 'nhs health patient',
  other:
    'order invoice tracking isbn issn sku version serial ticket reference ref receipt build case ' +
    'commit revision item product part model uuid timestamp pages page bestellung rechnung',
  pan: 'pan permanent income',
  passport: 'passport passports passnummer reisepass pasaporte passeport passaporto',
  pesel: 'pesel',
  phone:
    'phone phones telephone tel mobile mob cell cellphone phonenumber fax call called calling ' +
    'calls caller dial dialed landline telefon telefono telefone handy mobil movil rufnummer ' +
    'whatsapp sms text texted texting messages message voicemail answering office desk hotline ' +
    'ring contact reach telefonnummer portable celular',
  routing: 'routing aba rtn transit',
  ssn: 'ssn ssns social sin socialsecurity ssa',
  ssn_de:
    'rentenversicherung sozialversicherung sozialversicherungsnummer rentenversicherungsnummer',
  tax: 'tax steuer steuerid steuernummer steueridentifikationsnummer idnr taxpayer itin tin',
  tfn: 'tfn tax',
  vat: 'vat iva partita piva fiscale',
  zip: 'zip zipcode postcode postal plz postleitzahl postnummer postinumero cap codepostal',

  month:
    'january february march april may june july august september october november december ' +
    'jan feb mar apr jun jul aug sep sept oct nov dec',
  weekday: 'monday tuesday wednesday thursday friday saturday sunday',
  before_year:
    'in since during of by year from until till before after early late mid circa around',
  age_after: 'year years yr yrs yo y',
  old: 'old o',
  age_before: 'age aged turn turned turns turning',

  title: 'mr mrs ms miss dr prof professor sir madam herr frau monsieur madame signor signora',
  name: 'name named surname firstname lastname fullname',
  name_link: 'is s',
  place_before: 'lives live living lived born resides residing based grew moved located',
  place_link: 'in at to from up',
  legal:
    'ltd inc llc llp plc corp corporation gmbh ag sarl spa srl oy ab bv nv pty limited ' +
    'incorporated kg kft sro',

  street:
    'street st avenue ave road rd boulevard blvd lane ln drive dr court ct square sq place pl ' +
    'terrace parkway pkwy highway hwy way crescent close alley circle trail turnpike esplanade ' +
    'strasse platz allee weg straat laan plein gata gatan gade vej vag vagen katu tie utca ut ter',
  street_first:
    'rue via viale calle rua avenida avenue piazza plaza praca ulica ul al aleja ulice utca ' +
    'boulevard chemin corso largo travessa paseo carrera',
  unit: 'apt apartment suite unit flat box psc ste appartement apto',
  post_box: 'po',
  forces: 'apo fpo dpo',
} as const

export type Role = keyof typeof WORDS

/** Endings that are streets in Germanic and Nordic compounds: "Hauptstrasse", "Storgatan". */
export const STREET_ENDINGS = [
  ...['strasse', 'straat', 'gatan', 'gata', 'gade', 'vagen', 'vegen', 'veien', 'vej', 'katu'],
  ...['laan', 'plein', 'platz', 'allee', 'tie', 'kuja', 'polku', 'weg', 'stein', 'braut'],
]

/**
 * Words that are not English, by language. A caller may select languages; English words always
 * count.
 */
const OTHER_LANGUAGES: Readonly<Record<string, string>> = {
  de:
    'konto kreditkarte karte personalausweis ausweis ausweisnummer krankenversicherung ' +
    'versichertennummer krankenversichertennummer kvnr gesundheitskarte fuhrerschein bestellung ' +
    'rechnung passnummer reisepass telefon handy rufnummer telefonnummer rentenversicherung ' +
    'sozialversicherung sozialversicherungsnummer rentenversicherungsnummer steuer steuerid ' +
    'steuernummer steueridentifikationsnummer idnr plz postleitzahl geboren geburtsdatum herr frau',
  es: 'cuenta tarjeta pasaporte telefono movil celular iva avenida calle carrera paseo',
  fr:
    'compte carte permis passeport portable codepostal monsieur madame rue avenue chemin ' +
    'appartement',
  it:
    'conto carta passaporto telefono partita piva fiscale iva cap signor signora via viale ' +
    'piazza corso',
}

const ROLES = Object.keys(WORDS)
const SLOTS = 4096

const entries: ({ readonly word: string; readonly roles: readonly number[] } | undefined)[] = [
  undefined,
]
const slots = new Uint16Array(SLOTS)

function put(word: string, role: number): void {
  let slot = hashOf(word)
  while (slots[slot] !== 0 && entries[slots[slot] ?? 0]?.word !== word) slot = (slot + 1) % SLOTS
  const roles = entries[slots[slot] ?? 0]?.roles ?? []
  if (slots[slot] === 0) slots[slot] = entries.push(undefined) - 1
  entries[slots[slot] ?? 0] = { word, roles: [...roles, role] }
}

function hashOf(word: string): number {
  let hash = 0
  for (let i = 0; i < word.length; i++) hash = nextHash(hash, word.charCodeAt(i))
  return hash % SLOTS
}

/** Adds one character of a word to its hash, ignoring case. */
export function nextHash(hash: number, code: number): number {
  return (Math.imul(hash, 31) + (code | 0x20)) & 0xffffff
}

for (const [role, words] of Object.values(WORDS).entries())
  for (const word of words.split(' ')) put(word, role)

export const WORD_MAX = Math.max(...entries.map((entry) => entry?.word.length ?? 0))
export const ROLE_COUNT = ROLES.length

export function roleIndex(role: Role): number {
  return ROLES.indexOf(role)
}

/** The number of a word that has roles; 0 if it has none. */
export function findWord(codes: Uint8Array, from: number, to: number, hash: number): number {
  for (let slot = hash % SLOTS; slots[slot] !== 0; slot = (slot + 1) % SLOTS) {
    const number = slots[slot] ?? 0
    if (isSame(entries[number]?.word ?? '', codes, from, to)) return number
  }
  return 0
}

function isSame(word: string, codes: Uint8Array, from: number, to: number): boolean {
  if (word.length !== to - from) return false
  for (let i = 0; i < word.length; i++)
    if (word.charCodeAt(i) !== ((codes[from + i] ?? 0) | 0x20)) return false
  return true
}

export function rolesOf(number: number): readonly number[] {
  return entries[number]?.roles ?? []
}

const HAS = new Uint8Array(entries.length * ROLE_COUNT)
for (const [number, entry] of entries.entries())
  for (const role of entry?.roles ?? []) HAS[number * ROLE_COUNT + role] = 1

export function hasRole(number: number, role: number): boolean {
  return HAS[number * ROLE_COUNT + role] === 1
}

/** Whether a word belongs to one of the languages, to English, or to no known language. */
export function isSpoken(number: number, languages: ReadonlySet<string>): boolean {
  const of = LANGUAGES_OF[number] ?? []
  return of.length === 0 || of.some((language) => languages.has(language))
}

const LANGUAGES_OF = entries.map((entry) =>
  Object.keys(OTHER_LANGUAGES).filter((language) =>
    OTHER_LANGUAGES[language]?.split(' ').includes(entry?.word ?? ''),
  ),
)
