// Floors: of our own sentences, in every filling and carrier, nearly all are found and redacted.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findPersonalData } from './index.ts'
import { SAMPLES, unmark } from './testing/samples.ts'

const CARRIERS: readonly ((text: string) => string)[] = [
  (text) => `Good morning. ${text}`,
  (text) => `{"note":"${text}"}`,
  (text) => `He wrote:\n\n${text}\n\nand nothing else.`,
  (text) => `| ${text} | yes |`,
]

/** What has check digits or a form of its own. */
const STRUCTURED = [
  ...['CREDIT_CARD', 'IBAN_CODE', 'CRYPTO', 'EMAIL_ADDRESS', 'URL', 'IP_ADDRESS', 'US_SSN'],
  ...['US_ITIN', 'UK_NINO', 'ES_NIF', 'ES_NIE', 'IT_FISCAL_CODE', 'PL_PESEL', 'SG_NRIC_FIN'],
  ...['AU_ABN', 'IN_PAN', 'IN_AADHAAR', 'FI_PERSONAL_IDENTITY_CODE', 'DE_SOCIAL_SECURITY'],
]

test('precision and recall on structured types stay at 0.95 or more', () => {
  let spans = 0
  let right = 0
  let found = 0
  for (const { entity, sentence, wrong } of SAMPLES) {
    if (!STRUCTURED.includes(entity)) continue
    for (const carry of CARRIERS) {
      const { text, start, end } = unmark(carry(sentence))
      spans++
      for (const one of findPersonalData(text, { entities: STRUCTURED })) {
        found++
        if (one.entity === entity && one.start === start && one.end === end) right++
      }
      found += findPersonalData(carry(wrong), { entities: [entity] }).length
    }
  }
  assert(spans > 100 && right / spans >= 0.95, `recall ${right} of ${spans}`)
  assert(right / found >= 0.95, `precision ${right} of ${found}`)
})
