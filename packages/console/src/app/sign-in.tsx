// Signing in: through a provider of the tenant, or with an API key, which is kept nowhere.

import { identityProviders } from '@custos/client/operations'
import { useState } from 'react'
import { address, preferences } from '../ambient.ts'
import { useCall } from '../api/use-call.ts'
import { Button } from '../parts/button.tsx'
import { Form, TextField } from '../parts/form.tsx'
import { ErrorState } from '../parts/states.tsx'
import css from './sign-in.module.css'

/** The name of the preference: the tenant that was last signed in to. */
const TENANT = 'tenant'

export function SignIn({ signIn }: { readonly signIn: (key: string) => Promise<void> }) {
  const [key, setKey] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const submit = async () => {
    setBusy(true)
    setError(null)
    try {
      await signIn(key.trim())
    } catch (caught) {
      setError(caught)
      setBusy(false)
    }
  }
  return (
    <main className={css['page']}>
      <div className={css['card']}>
        <h1>Sign in to Custos</h1>
        <p>
          With an API key of your tenant. The browser keeps a session that ends with the key; the
          key itself is not kept.
        </p>
        <Form onSubmit={submit}>
          <TextField
            label="API key"
            type="password"
            autoComplete="off"
            spellCheck={false}
            required
            value={key}
            onChange={setKey}
          />
          <Button type="submit" kind="primary" busy={busy} disabled={key.trim() === ''}>
            Sign in
          </Button>
        </Form>
        {error !== null && <ErrorState error={error} />}
        <Providers />
      </div>
    </main>
  )
}

/** The providers of the tenant that the address names, or that was signed in to before. */
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
