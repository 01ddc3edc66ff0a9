// Signing in with an API key. The key is sent once and kept nowhere in the browser.

import { useState } from 'react'
import { Button } from '../parts/button.tsx'
import { Form, TextField } from '../parts/form.tsx'
import { ErrorState } from '../parts/states.tsx'
import css from './sign-in.module.css'

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
      </div>
    </main>
  )
}
