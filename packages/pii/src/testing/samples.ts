// Sentences of our own with known personal data: published test numbers, none of anybody's.

export interface Sample {
  readonly entity: string
  /** `[` and `]` around what is to be found. */
  readonly sentence: string
  /** The same with a wrong check digit or form: not to be found as this entity. */
  readonly wrong: string
}

export const SAMPLES: readonly Sample[] = [
  ...list('CREDIT_CARD', [
    ['It was charged to [4111 1111 1111 1111] today.', 'to 4111 1111 1111 1112 today'],
    ['[5555-5555-5555-4444], expired', '5555-5555-5555-4445, expired'],
    ['[378282246310005]', '378282246310006'],
    ['pay with [3782 822463 10005] now', 'pay with 3782 822463 10006 now'],
    ['[6011111111111117]', '6011111111111118'],
    ['[3530111333300000]', '3530111333300001'],
    ['[30569309025904]', '30569309025905'],
    ['[2223003122003222]', '2223003122003223'],
    ['My card [4222222222222] is lost', 'My card 4222222222223 is lost'],
  ]),
  ...list('IBAN_CODE', [
    ['Transfer it to [GB82 WEST 1234 5698 7654 32] please.', 'to GB82 WEST 1234 5698 7654 33'],
    ['[DE89370400440532013000]', 'DE89370400440532013001'],
    ['[FR1420041010050500013M02606]', 'FR1420041010050500013M02607'],
    ['[NO9386011117947]', 'NO9386011117948'],
    ['[MT84MALT011000012345MTLCAST001S]', 'MT84MALT011000012345MTLCAST001T'],
    ['iban [gb82west12345698765432]', 'iban gb82west1234569876543'],
  ]),
  ...list('CRYPTO', [
    ['[1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa]', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb'],
    ['[3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy]', '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLz'],
    ['[bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4]', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5'],
    [
      '[bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0]',
      'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj1',
    ],
  ]),
  ...list('EMAIL_ADDRESS', [
    ['Write to [ada.lovelace+x@example.co.uk].', 'ada@localhost'],
    ["<[o'neil@example.org]>", "o'neil@example"],
    ['mailto:[a_b-c@sub.example.com]', 'a@b@'],
  ]),
  ...list('URL', [
    ['See [https://example.com/a?b=c#d], then go.', 'https://'],
    ['at [www.example.se]', 'at wwwexample'],
    ['on [example.com/path]', 'on example.comma'],
  ]),
  ...list('IP_ADDRESS', [
    ['from [192.0.2.44] again', 'from 192.0.2.256 again'],
    ['from [2001:db8::ff00:42:8329] again', 'from 2001:db8:ff00:42:8329 again'],
    ['[::ffff:192.0.2.1]', '2001:db8::1::2'],
    ['[fe80:0:0:0:200:f8ff:fe21:67cf]', 'version 1.2.3.4.5'],
  ]),
  ...list('US_SSN', [
    ['[536-22-1234]', '666-22-1234'],
    ['my social security number is [536221234]', 'ssn 536001234'],
    ['SSN: [536 22 1234]', 'SSN: 900 22 1234'],
  ]),
  ...list('US_ITIN', [['[912-70-1234]', '912-40-1234']]),
  ...list('US_PASSPORT', [['passport [C01234567]', 'parcel C01234567']]),
  ...list('US_DRIVER_LICENSE', [["driver's license [D1234567]", 'part D1234567']]),
  ...list('US_BANK_NUMBER', [['bank account [945456787654]', 'about 945456787654']]),
  ...list('ABA_ROUTING_NUMBER', [['routing number [021000021]', 'routing number 021000022']]),
  ...list('UK_NHS', [['NHS [943 476 5919]', 'NHS 943 476 5918']]),
  ...list('UK_NINO', [
    ['[AB123456C]', 'QQ123456C'],
    ['[AB 12 34 56 C]', 'AB 12 34 56 E'],
  ]),
  ...list('UK_POSTCODE', [['in [SW1A 1AA]', 'in SW1A 111']]),
  ...list('ES_NIF', [
    ['[12345678Z]', '12345678A'],
    ['[12345678-Z]', '12345678-A'],
  ]),
  ...list('ES_NIE', [['[X1234567L]', 'X1234567M']]),
  ...list('IT_FISCAL_CODE', [['[RSSMRA85T10A562S]', 'RSSMRA85T10A562T']]),
  ...list('IT_VAT_CODE', [['partita IVA [00743110157]', 'partita IVA 00743110158']]),
  ...list('PL_PESEL', [['[44051401359]', '44051401358']]),
  ...list('SG_NRIC_FIN', [['[S1234567D]', 'S1234567E']]),
  ...list('AU_TFN', [['tax file number [123 456 782]', 'tax file number 123 456 783']]),
  ...list('AU_ABN', [['[51 824 753 556]', '51 824 753 557']]),
  ...list('AU_ACN', [['ACN [004 085 616]', 'ACN 004 085 617']]),
  ...list('AU_MEDICARE', [['Medicare [2123 45670 1]', 'Medicare 2123 45671 1']]),
  ...list('IN_PAN', [['[ABCPE1234F]', 'ABCDE1234F']]),
  ...list('IN_AADHAAR', [['[2341 2341 2346]', '2341 2341 2347']]),
  ...list('FI_PERSONAL_IDENTITY_CODE', [
    ['[131052-308T]', '131052-308U'],
    ['[131052A308T]', '131052A308U'],
  ]),
  ...list('DE_TAX_ID', [['Steuer-ID [86095742719]', 'Steuer-ID 86095742718']]),
  ...list('DE_SOCIAL_SECURITY', [['[15070649C103]', '15070649C104']]),
  ...list('DE_HEALTH_INSURANCE', [
    ['Gesundheitskarte [A123456780]', 'Gesundheitskarte A123456781'],
  ]),
  ...list('DE_ID_CARD', [['Personalausweis [T220001293]', 'Personalausweis T220001294']]),
  ...list('DE_PASSPORT', [['Reisepass [C01X00T47]', 'Reisepass 101X00T4A']]),
  ...list('MEDICAL_LICENSE', [['DEA [AB1234563]', 'DEA AB1234564']]),
  ...list('PHONE_NUMBER', [
    ['ring [+44 20 7946 0958] after six', 'it is +4 after six'],
    ['[(415) 555-0132]', '(115) 555-0132 36'],
    ['[415-555-0132x89]', '415/555/0132'],
    ['call me at [555 0132]', 'of 555 0132 units'],
    ['[01 99 00 12 34]', '1 99 00 12 34'],
  ]),
  ...list('DATE_TIME', [
    ['on [2026-01-31 10:20:30] it', 'on 2026-13-31 it'],
    ['born [1/31/1980]', 'born 1/32/1980'],
    ['[31 January 2026]', '32 Januar 2026'],
    ['on [July 4th, 2026]', 'may we'],
    ['since [1999]', 'since 2999'],
  ]),
  ...list('AGE', [
    ['a [62]-year-old man', 'a 62-year lease'],
    ['she turned [40]', 'she turned 400'],
  ]),
  ...list('ZIP_CODE', [
    ['zip code [94103-1234]', 'code 94103-1234'],
    ['PLZ [10115]', 'PLZ 1'],
  ]),
  ...list('STREET_ADDRESS', [
    ['at [221 Baker Street] now', 'at 221 baker shops'],
    ['[Hauptstrasse 5]', 'Hauptsache 5'],
    ['[12 Rue de Rivoli]', '12 Ruelles de Rivoli'],
    ['[P.O. Box 77]', 'Boxed 77'],
    ['[APO AE 09012]', 'APO about 09012'],
  ]),
  ...list('PERSON', [
    ['Then Dr. [Grace B. Hopper] spoke', 'then the doctor spoke'],
    ['My name is [Ada]', 'My name is not'],
  ]),
  ...list('LOCATION', [['She lives in [Oslo]', 'She lives in peace']]),
  ...list('ORGANIZATION', [['for [Acme Widgets Ltd]', 'for all the ltd']]),
]

function list(entity: string, pairs: readonly (readonly [string, string])[]): Sample[] {
  return pairs.map(([sentence, wrong]) => ({ entity, sentence, wrong }))
}

/** The sentence without its brackets, and where what stood between them is. */
export function unmark(sentence: string): { text: string; start: number; end: number } {
  const start = sentence.indexOf('[')
  const end = sentence.indexOf(']') - 1
  return { text: sentence.replace('[', '').replace(']', ''), start, end }
}
