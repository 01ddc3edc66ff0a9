// Where a request came from, for limits by address: never logged and never stored.

import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { isBlocked } from '../../platform/egress/addresses.ts'

/**
 * A proxy of the operator's own network names its client in the last entry of `X-Forwarded-For`;
 * of anybody else the header says nothing.
 */
export function clientAddress(headers: IncomingHttpHeaders, remote: string): string {
  if (isIP(remote) === 0 || !isBlocked(remote)) return remote
  const named = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .at(-1)
    ?.trim()
  return named !== undefined && isIP(named) !== 0 ? named : remote
}
