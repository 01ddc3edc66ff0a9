// Every signature that a connection may list is taken where it is listed, and nowhere else.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SSO_ALGORITHMS } from '@custos/contract'
import { startTestService } from '../../testing/harness.ts'
import { Browser } from './testing/browser.ts'
import { startForgingProvider } from './testing/forging-provider.ts'
import { connect, enter, SSO_EGRESS, walk } from './testing/sso-scene.ts'

test('an ID token is taken with the signatures of the list only', async (t) => {
  const service = await startTestService({ config: { egress: SSO_EGRESS } })
  t.after(() => service.stop())
  const supported = { id_token_signing_alg_values_supported: SSO_ALGORITHMS }
  for (const algorithm of SSO_ALGORITHMS)
    await t.test(algorithm, async (each) => {
      const provider = await startForgingProvider(each, { algorithm, ...supported })
      const listed = await connect(service, provider.issuer, { algorithms: [algorithm] })
      await enter(service, provider, listed.connection_id)
      for (const sign of ['none', 'HS256', 'unknown-key', 'tampered'] as const) {
        const { connection_id } = listed
        const forged = await walk(new Browser(service), provider, { connection_id }, { sign })
        assert.equal(forged.body.error, 'login_refused', sign)
      }
      const algorithms = SSO_ALGORITHMS.filter((other) => other !== algorithm)
      const { connection_id } = await connect(service, provider.issuer, { algorithms })
      const refused = await walk(new Browser(service), provider, { connection_id })
      assert.equal(refused.body.error, 'login_refused')
    })
})
