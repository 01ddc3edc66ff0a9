// OpenID Connect Back-Channel Logout 1.0: a provider ends sessions that were begun through it.

import { hash } from 'node:crypto'
import type { identity as contract } from '@custos/contract'
import { listSessionsThrough } from '../../platform/db/sessions.sql.ts'
import { deleteUnderWay } from '../../platform/db/sso.sql.ts'
import type { Handler } from '../../platform/kernel/call.ts'
import { rateLimits } from '../../platform/rates/rate-limits.ts'
import { Refusal } from '../../platform/refusal.ts'
import { meter } from '../tenants/index.ts'
import { endSession } from './sessions.ts'
import { findIdentity, takeLogout } from './sso.sql.ts'
import { openRoute } from './sso-connection.ts'
import { sessionLabel } from './sso-login.ts'
import { LOGOUT_S, verifyLogout } from './sso-provider.ts'

const MINUTE_US = 60_000_000
const LOGOUTS_PER_MINUTE = 600
/** A token is remembered until no clock takes it for valid. */
const KEPT_US = 2 * LOGOUT_S * 1_000_000

export const logoutByProvider: Handler<(typeof contract)['backchannel']> = async (
  call,
  { query, body },
) => {
  const { kernel } = call
  const connection = await openRoute(kernel, query.connection_id)
  if (!connection) return call.refuse('login_refused')
  const { tenant_id, row } = connection
  const { connection_id } = row
  const limit = {
    tenant_id,
    limit_id: `sso_logout_${connection_id}`,
    max_requests: LOGOUTS_PER_MINUTE,
    window_us: MINUTE_US,
  }
  if (!(await rateLimits(kernel).take(limit)))
    throw new Refusal('rate_limited', undefined, { retry_after_s: 60 })
  const token = new URLSearchParams(Buffer.from(body).toString()).get('logout_token') ?? ''
  const claims = await verifyLogout(kernel, connection, token)
  if (!claims) return call.refuse('login_refused')
  const keys = await kernel.keyring.tenant(tenant_id)
  const sub_label =
    claims.sub === null ? null : keys.label(`identity\n${connection_id}\n${claims.sub}`)
  const sid_label = claims.sid === null ? null : await sessionLabel(kernel, connection, claims.sid)
  const ended = await kernel.db.transact(tenant_id, async (tx) => {
    const jti_hash = hash('sha256', claims.jti, 'buffer')
    const expires_us = tx.now() + KEPT_US
    if (!(await takeLogout(tx, { connection_id, jti_hash, expires_us })))
      return call.refuse('login_refused')
    meter(tx, call.operation.id)
    const person = sub_label === null ? null : await findIdentity(tx, { connection_id, sub_label })
    const named = (await listSessionsThrough(tx, connection_id)).filter(
      (session) =>
        (sub_label === null || session.user_id === person?.user_id) &&
        (sid_label === null || session.sid_label === sid_label),
    )
    for (const session of named) await endSession(kernel, tx, session, connection_id)
    // A sign-in that has a code and no session yet ends too.
    if (sid_label !== null) await deleteUnderWay(tx, { sid_label })
    else if (person) await deleteUnderWay(tx, { user_id: person.user_id })
    return named.length
  })
  return { ended }
}
