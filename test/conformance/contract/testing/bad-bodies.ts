// Bodies that no operation may take, whatever it does.

import { gzipSync } from 'node:zlib'
import { limits } from '@custos/contract'
import type { Sent } from './table.ts'

export interface Bad {
  readonly name: string
  readonly sent: Sent
}

const DEEP = 10_000
const BODY_BYTES_TOO_MANY = 10 * 1024 * 1024

/** JSON values, and texts that are none, that are refused wherever they stand. */
const VALUES: Readonly<Record<string, string>> = {
  'a NaN': 'NaN',
  'an Infinity': 'Infinity',
  'a negative Infinity': '-Infinity',
  'a number beyond doubles': '1e400',
  'a negative number beyond doubles': '-1e400',
  'two to the 63rd': '9223372036854775808',
  'minus two to the 63rd': '-9223372036854775808',
  'two to the 53rd': '9007199254740992',
  'a high surrogate alone': '"\\ud800"',
  'a low surrogate alone': '"x\\udc00y"',
  'an escaped U+0000': '"a\\u0000b"',
  'a raw control character': '"a\u0001b"',
  'an undefined': 'undefined',
  'single quotes': "'text'",
  'a leading zero': '01',
  'a plus sign': '+1',
  'hexadecimal digits': '0x10',
  'a trailing comma': '[1,]',
  'a comment': '/* */ 1',
  'an unterminated text': '"abc',
  'a prototype': '{"__proto__": {"polluted": true}}',
  'a constructor with a prototype': '{"constructor": {"prototype": {"polluted": true}}}',
  'deep arrays': `${'['.repeat(DEEP)}${']'.repeat(DEEP)}`,
  'deep objects': `${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`,
  'arrays one level too deep': `${'['.repeat(limits.json_depth)}${']'.repeat(limits.json_depth)}`,
}

const MEMBERS: Readonly<Record<string, string>> = {
  'a prototype as key': '"__proto__": 1',
  'an escaped prototype as key': '"\\u005f_proto__": 1',
  'a lone surrogate as key': '"\\ud800": 1',
  'U+0000 as key': '"\\u0000": 1',
  'a key twice': '"x": 1, "x": 2',
  'a key twice, once escaped': '"x": 1, "\\u0078": 2',
  'a key twice, further in': '"x": [{"y": {"z": 1, "z": 1}}]',
  'a private key': '"signing_key": "secret"',
  'a private key in options': '"options": {"signing_key": "secret"}',
}

const WHOLE: Readonly<Record<string, string | Uint8Array>> = {
  blanks: '   ',
  'an opening brace': '{',
  'a closing brace': '}',
  'an array': '[]',
  'a null': 'null',
  'a text': '"text"',
  'a number': '12',
  'a flag': 'true',
  'bytes that are no UTF-8': Uint8Array.of(0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d),
  'an overlong encoding': Uint8Array.of(0x7b, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31, 0x7d),
}

function withMember(json: string, member: string): string {
  const inside = json.slice(0, -1)
  return inside === '{' ? `{${member}}` : `${inside},${member}}`
}

/** Requests that differ from a good one in one thing no operation may take. */
export function badBodies(good: Sent): Bad[] {
  const json = JSON.stringify(good.body ?? {})
  const { body: _, ...rest } = good
  const bad = (name: string, raw: string | Uint8Array, headers = {}): Bad => ({
    name,
    sent: { ...rest, raw, headers: { ...good.headers, ...headers } },
  })
  const type = (value: string) => bad(`the content type ${value}`, json, { 'content-type': value })
  return [
    ...Object.entries(VALUES).map(([name, text]) => bad(name, withMember(json, `"x": ${text}`))),
    ...Object.entries(MEMBERS).map(([name, text]) => bad(name, withMember(json, text))),
    ...Object.entries(WHOLE)
      // Nothing at all is a list that an operation of many items takes.
      .filter(([name]) => !(name === 'an array' && Array.isArray(good.body)))
      .map(([name, text]) => bad(name, text)),
    bad('a byte order mark', `\ufeff${json}`),
    bad('UTF-16', Buffer.from(json, 'utf16le')),
    bad('two documents', `${json}${json}`),
    bad('a cut off document', json.slice(0, -1)),
    bad('ten megabytes', withMember(json, `"x": "${'x'.repeat(BODY_BYTES_TOO_MANY)}"`)),
    bad('a compressed body', gzipSync(json), { 'content-encoding': 'gzip' }),
    ...['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'].map(
      type,
    ),
    ...['application/x-ndjson', 'application/jsonx', 'text/json'].map(type),
  ]
}

/** Lines that no import may take; a good line stands before each. */
export const BAD_IMPORT_LINES: Readonly<Record<string, string | Uint8Array>> = {
  ...Object.fromEntries(
    Object.entries(VALUES).map(([name, text]) => [
      name,
      `{"content":"c","metadata":{"x":${text}}}`,
    ]),
  ),
  'no content': '{"metadata":{}}',
  'a number as content': '{"content":1}',
  'an array': '[]',
  'a null': 'null',
  'a cut off line': '{"content":"c"',
  'a ref beyond 2^53': '{"content":"c","ref":9223372036854775808}',
  'a negative ref': '{"content":"c","ref":-1}',
  'a fraction as ref': '{"content":"c","ref":1.5}',
  'a time without an offset': '{"content":"c","written_at":"2026-01-01T00:00:00"}',
  'a valid_from that is no time': '{"content":"c","valid_from":"yesterday"}',
  'an end before its beginning':
    '{"content":"c","valid_from":"2026-01-02T00:00:00Z","valid_until":"2026-01-01T00:00:00Z"}',
  'a namespace with a control character': '{"content":"c","namespace":"a\\u0007"}',
  'a private key': '{"content":"c","signing_key":"secret"}',
  'an unknown field': '{"content":"c","ttl":1}',
  'a misspelt field': '{"content":"c","metadta":{}}',
  'an unknown field further in': '{"content":"c","source":{"written":"x"}}',
  'a key twice': '{"content":"c","content":"d"}',
  'a key twice, further in': '{"content":"c","metadata":{"a":{"b":1,"b":2}}}',
  'bytes that are no UTF-8': Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d),
}
