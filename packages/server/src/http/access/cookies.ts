// Cookies of this service: opaque, unreadable for scripts, bound to its host.

import type { IncomingHttpHeaders } from 'node:http'
import type { AnswerCookie } from '../../platform/kernel/call.ts'
import { isLoopbackName, parseOrigin } from './local-guard.ts'

const NAMES: Readonly<Record<AnswerCookie['name'], string>> = {
  session: 'custos_session',
  login: 'custos_login',
}
/** With this prefix browsers accept the cookie only from its own secure host, no neighbour. */
const PREFIX = '__Host-'
/** Values that this service generates. */
const VALUE = /^[0-9A-Za-z]{1,100}$/

/** Returns null if no cookie was sent, or one that this service did not create. */
export function readCookie(
  headers: IncomingHttpHeaders,
  name: AnswerCookie['name'],
): string | null {
  const text = headers.cookie
  if (text === undefined) return null
  const secure = findValue(text, PREFIX + NAMES[name])
  if (secure !== null || !isLoopbackHost(headers)) return secure
  return findValue(text, NAMES[name])
}

function findValue(text: string, name: string): string | null {
  for (const pair of text.split(';')) {
    const at = pair.indexOf('=')
    if (at === -1 || pair.slice(0, at).trim() !== name) continue
    const value = pair.slice(at + 1).trim()
    if (VALUE.test(value)) return value
  }
  return null
}

/** On plain HTTP over loopback it has neither `Secure` nor the prefix: browsers would drop it. */
export function renderCookie(
  headers: IncomingHttpHeaders,
  { name, value, max_age_s }: AnswerCookie,
): string {
  const plain = isLoopbackHost(headers) && !isOverTls(headers)
  const named = `${plain ? '' : PREFIX}${NAMES[name]}=${value}`
  const flags = `Path=/; Max-Age=${max_age_s}; HttpOnly; SameSite=Lax`
  return plain ? `${named}; ${flags}` : `${named}; ${flags}; Secure`
}

function isLoopbackHost({ host = '' }: IncomingHttpHeaders): boolean {
  const name = parseOrigin(`http://${host}`)?.hostname
  return name !== undefined && isLoopbackName(name)
}

// A proxy in front of the service may have replaced the host name.
const isOverTls = (headers: IncomingHttpHeaders): boolean =>
  headers.origin?.startsWith('https:') === true ||
  String(headers['x-forwarded-proto'] ?? '').startsWith('https')
