// Signing in with an API key, which is not stored, through a provider, or by an invitation.

import { identityProviders } from '@custos/client/operations'
import { useState } from 'react'
import { address, preferences } from '../ambient.ts'
import type { SessionGateProps } from '../api/session.tsx'
import { useCall } from '../api/use-call.ts'
import { Button } from '../parts/button.tsx'
import { Form, TextField } from '../parts/form.tsx'
import { ErrorState } from '../parts/states.tsx'
import css from './sign-in.module.css'

/** The name of the preference with the tenant of the last sign-in. */
const TENANT = 'tenant'

export function SignIn(ways: Parameters<SessionGateProps['signIn']>[0]) {
  const { ended, withKey, withInvitation } = ways
  return (
    <main className={css['page']}>
      <div className={css['card']}>
        <h1>Sign in to Custos</h1>
        {ended && <p role="status">Your session has ended. Sign in again to go on here.</p>}
        <p>
          With an API key of your tenant. The browser keeps a session that ends with the key; the
          key itself is not kept.
        </p>
        <SecretForm label="API key" verb="Sign in" act={withKey} />
        <Providers />
        <section className={css['providers']} aria-label="By invitation">
          <h2>Or with an invitation</h2>
          <SecretForm
            label="Invitation"
            hint="The text that an administrator sent to you; it can be taken once"
            verb="Take the invitation"
            act={withInvitation}
          />
        </section>
      </div>
    </main>
  )
}

function SecretForm(props: {
  readonly label: string
  readonly hint?: string
  readonly verb: string
  readonly act: (secret: string) => Promise<void>
}) {
  const { label, hint, verb, act } = props
  const [secret, setSecret] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const submit = async () => {
    setBusy(true)
    setError(null)
    try {
      await act(secret.trim())
    } catch (caught) {
      setError(caught)
      setBusy(false)
    }
  }
  return (
    <Form onSubmit={submit}>
      <TextField
        label={label}
        hint={hint}
        type="password"
        autoComplete="off"
        spellCheck={false}
        required
        value={secret}
        onChange={setSecret}
      />
      <Button type="submit" kind="primary" busy={busy} disabled={secret.trim() === ''}>
        {verb}
      </Button>
      {error !== null && <ErrorState error={error} />}
    </Form>
  )
}

/** The providers of the tenant in the address, or of the last sign-in. */
function Providers() {
  const known = address.parameter('tenant') ?? preferences.get(TENANT) ?? ''
  const [typed, setTyped] = useState(known)
  const [tenant, setTenant] = useState(known)
  const listed = useCall(identityProviders, [{ tenant }], { enabled: tenant !== '' })
  const find = () => {
    preferences.set(TENANT, typed.trim())
    setTenant(typed.trim())
  }
  const providers = listed.data?.providers ?? []
  return (
    <section className={css['providers']} aria-label="Single sign-on">
      <h2>Or with your organisation</h2>
      {providers.map(({ connection_id, name }) => (
        <a key={connection_id} className={css['provider']} href={linkTo(connection_id)}>
          Sign in with {name}
        </a>
      ))}
      {listed.data && providers.length === 0 && (
        <p role="status">No provider is connected to this tenant.</p>
      )}
      {listed.error && <ErrorState error={listed.error} />}
      <Form onSubmit={find}>
        <TextField
          label="Tenant"
          hint="Its id; an administrator can send you a link with it"
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={setTyped}
        />
        <Button type="submit" disabled={typed.trim() === ''}>
          Find providers
        </Button>
      </Form>
    </section>
  )
}

const linkTo = (connection_id: string): string =>
  `/v1/portal/sso/authorize?${new URLSearchParams({ connection_id, return_to: address.path() })}`
