// Issues a token: a short-lived credential for one store and namespace.

import { type keys as contract, limits } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import { countLiveTokens } from '../../platform/db/credential-limits.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Handler, Principal } from '../../platform/kernel/call.ts'
import { formatNamespace, parseNamespace } from '../../platform/namespace.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import {
  hasNoKey,
  issueKey,
  requireLiveMaker,
  requireNoExcess,
  requireStores,
} from './credentials.ts'
import { issueSealed } from './key-texts.ts'
import { type Rights, rightsOf } from './rights.ts'
import { meter } from './usage/usage.ts'

const SECOND_US = 1_000_000

/** The key that a token ends with; null: none. That of a person ends with the person. */
const makerOf = (principal: Principal): string | null =>
  principal.kind === 'tenant' && !hasNoKey(principal) ? principal.key_id : null

export const createToken: Handler<typeof contract.create_token> = async (call, { body }) => {
  const { kernel, principal, tenant_id } = call
  const { store_id } = body
  const namespace = parseNamespace(tenant_id, body)
  const scopes = [...new Set(body.scopes)]
  const rights = rightsOf(principal)
  const wanted: Rights = {
    class: 'token',
    scopes,
    allowed_stores: [store_id],
    namespace,
    max_trust_tier: rights.max_trust_tier,
    expires_us: rights.expires_us,
  }
  // Before the unit too: a replay shows nothing to a caller who could not have made the token.
  requireNoExcess(wanted, rights)
  const ttl_us = (body.ttl_s ?? limits.token_ttl_s.default) * SECOND_US
  const binding_key_id = makerOf(principal)

  const show = (key_id: string, token: string | null, at: { from_us: number; to_us: number }) => ({
    key_id,
    token,
    store_id,
    namespace: formatNamespace(tenant_id, namespace),
    scopes,
    created_at: formatTime(at.from_us),
    expires_at: formatTime(at.to_us),
  })
  return issueSealed(call, { namespace }, ({ limit }) =>
    call.once<ReturnType<typeof show>>({
      async run(tx) {
        await requireLiveMaker(tx, principal)
        await requireStores(tx, [store_id])
        if (binding_key_id !== null) await requireFewTokens(tx, binding_key_id)
        const created_us = tx.now()
        const ends_us = created_us + ttl_us
        const expires_us = Math.min(ends_us, rights.expires_us ?? ends_us)
        const fresh = { ...wanted, tenant_id, name: '', expires_us, limit }
        const issued = await issueKey(kernel, tx, fresh, {
          rights,
          binding_key_id,
          user_id: principal.user_id,
        })
        const { key_id, api_key } = issued
        meter(tx, call.operation.id)
        await appendCrumb(tx, {
          event_type: 'tenant.key_created',
          subject: key_id,
          payload: { key_id, class: fresh.class },
        })
        const ids = { key_id, created_us, expires_us }
        return { reply: show(key_id, api_key, { from_us: created_us, to_us: expires_us }), ids }
      },
      // The same body came with the key; only the first answer contained the token itself.
      replay: async (_, { key_id, created_us, expires_us }) =>
        show(String(key_id), null, { from_us: Number(created_us), to_us: Number(expires_us) }),
    }),
  )
}

/** Any key that may read can make tokens, so their number is limited. */
async function requireFewTokens(tx: Tx, maker_id: string): Promise<void> {
  if ((await countLiveTokens(tx, maker_id, tx.now())) >= limits.live_tokens_per_key)
    throw new Refusal('too_many_tokens')
}
