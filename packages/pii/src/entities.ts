// The entity types that the recognisers find, with Presidio's names and one sentence each.

const ABOUT = {
  ABA_ROUTING_NUMBER: 'Nine digits with the check digit of US banks, named as a routing number.',
  AGE: 'A number said to be an age: "62-year-old", "aged 62", "turned 62".',
  AU_ABN: 'Australian business number: eleven digits, modulus 89.',
  AU_ACN: 'Australian company number: nine digits with a check digit, named as one.',
  AU_MEDICARE: 'Australian Medicare number: ten digits with a check digit, named as one.',
  AU_TFN: 'Australian tax file number: nine digits, modulus 11, named as one.',
  CREDIT_CARD: 'A card number of a known issuer range and its lengths, Luhn check digit.',
  CRYPTO: 'A Bitcoin address with a valid checksum: Base58Check, Bech32 or Bech32m.',
  DATE_TIME: 'A date in digits or with a month, a day of the week, a year after "in" or "since".',
  DE_HEALTH_INSURANCE: 'German health insurance number: a letter, nine digits, check digit.',
  DE_ID_CARD: 'German identity card number: nine characters and a check digit, named as one.',
  DE_PASSPORT: 'German passport number: nine characters of its alphabet, named as one.',
  DE_SOCIAL_SECURITY: 'German pension insurance number: date of birth, initial, check digit.',
  DE_TAX_ID: 'German tax identification number: eleven digits, ISO 7064 MOD 11,10.',
  EMAIL_ADDRESS: 'An e-mail address with a domain.',
  ES_NIE: 'Spanish number of foreigners: X, Y or Z, seven digits, control letter.',
  ES_NIF: 'Spanish tax number: eight digits, control letter.',
  FI_PERSONAL_IDENTITY_CODE: 'Finnish identity code: date of birth, sign of the century, check.',
  IBAN_CODE: 'Bank account of a registered country: its length and MOD 97-10.',
  IN_AADHAAR: 'Indian resident number: twelve digits, Verhoeff check digit.',
  IN_PAN: 'Indian tax account: five letters with the kind of holder, four digits, letter.',
  IP_ADDRESS: 'An address of version 4 or 6.',
  IT_FISCAL_CODE: 'Italian fiscal code: sixteen characters with a check character.',
  IT_VAT_CODE: 'Italian VAT number: eleven digits, Luhn check digit, named as one.',
  LOCATION: 'The name after "lives in", "born in", "based in" and the like; others are not found.',
  MEDICAL_LICENSE: 'US DEA registration number: two letters, seven digits, check digit.',
  ORGANIZATION: 'Capitalised words that end in a legal form such as Ltd, GmbH or Inc.',
  PERSON: 'Capitalised words after a title, "my name is" or "name:"; others are not found.',
  PHONE_NUMBER: 'An international or US number, or grouped digits where a telephone is spoken of.',
  PL_PESEL: 'Polish population number: date of birth, check digit.',
  SG_NRIC_FIN: 'Singapore identity number: letter, seven digits, check letter.',
  STREET_ADDRESS: 'A number beside a word for a street, a box, a flat or a suite.',
  UK_NHS: 'British health service number: ten digits, modulus 11.',
  UK_NINO: 'British national insurance number: two letters, six digits, A to D.',
  UK_POSTCODE: 'British postcode.',
  URL: 'A web address, or a bare domain of a common ending.',
  US_BANK_NUMBER: 'Eight to seventeen digits named as a bank account.',
  US_DRIVER_LICENSE: 'A number named as a driving licence.',
  US_ITIN: 'US taxpayer number: 9, two digits, groups 50 to 99, four digits.',
  US_PASSPORT: 'Nine digits, or a letter and eight, named as a passport.',
  US_SSN: 'US social security number: no group of zeros, no area 000, 666 or 900 to 999.',
  ZIP_CODE: 'Digits named as a postal code.',
} as const

export type Entity = keyof typeof ABOUT

/** Sorted by name. */
export function listEntities(): { entity: string; about: string }[] {
  return Object.entries(ABOUT)
    .map(([entity, about]) => ({ entity, about }))
    .sort((a, b) => (a.entity < b.entity ? -1 : 1))
}
