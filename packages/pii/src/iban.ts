// IBANs: the countries of the registry (ISO 13616), their lengths, MOD 97-10.

import { characterValue, isMod97 } from './checksums.ts'
import { isDigit } from './fold.ts'
import type { Found } from './found.ts'
import { FOREIGN, type Scan } from './scan.ts'

const LENGTHS =
  'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 ' +
  'DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 ' +
  'HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 ' +
  'MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 ' +
  'RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 ' +
  'VA22 VG24 XK20 YE30'

const BY_COUNTRY = new Uint8Array(36 * 36)
for (const row of LENGTHS.split(' '))
  BY_COUNTRY[characterValue(row.charCodeAt(0)) * 36 + characterValue(row.charCodeAt(1))] = Number(
    row.slice(2),
  )

const characters = new Uint8Array(34)

/**
 * From a word that begins with a country and two digits; the groups that follow are taken as long
 * as the country's length needs them, one space or dash between.
 */
export function findIban(scan: Scan, word: number, found: Found): void {
  const start = scan.start(word)
  const country = characterValue(scan.at(start)) * 36 + characterValue(scan.at(start + 1))
  const size = country < 0 ? 0 : (BY_COUNTRY[country] ?? 0)
  if (
    size === 0 ||
    scan.length(word) > size ||
    !isDigit(scan.at(start + 2)) ||
    !isDigit(scan.at(start + 3))
  )
    return
  let count = 0
  let last = word
  for (; ; last++) {
    if (((scan.kinds[last] ?? FOREIGN) & FOREIGN) !== 0 || count + scan.length(last) > size) return
    for (let i = scan.start(last); i < scan.end(last); i++) characters[count++] = scan.at(i)
    if (count === size) break
    if (last + 1 >= scan.count || scan.start(last + 1) !== scan.end(last) + 1) return
    const gap = scan.at(scan.end(last))
    if (gap !== 0x20 && gap !== 0x2d) return
  }
  if (isMod97(characters, size)) found.add('IBAN_CODE', start, scan.end(last), 0.95)
}
