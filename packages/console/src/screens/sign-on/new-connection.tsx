// A new connection to a provider: what to enter, and then what to register there.

import { identityCreateConnection } from '@custos/client/operations'
import type { IdentityCreateConnectionBody, SsoConnection } from '@custos/client/types'
import { useState } from 'react'
import { useAction } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/code.tsx'
import { CheckField, Form, SelectField, TextField } from '../../parts/form.tsx'
import { ErrorState } from '../../parts/states.tsx'

type Role = NonNullable<SsoConnection['default_role']>

const ROLES = [
  ['', 'As invited'],
  ['viewer', 'Viewer'],
  ['auditor', 'Auditor'],
  ['approver', 'Approver'],
  ['operator_of_stores', 'Operator of stores'],
  ['admin', 'Admin'],
] as const satisfies readonly (readonly [Role | '', string])[]

/** Matches Microsoft's issuers that stand for several directories. */
const SHARED = /\/(common|organizations)\/v2\.0\s*$/

export function NewConnection({ done }: { readonly done: () => void }) {
  const [name, setName] = useState('')
  const [issuer, setIssuer] = useState('')
  const [clientId, setClientId] = useState('')
  const [directories, setDirectories] = useState('')
  const [secret, setSecret] = useState('')
  const [role, setRole] = useState<Role | ''>('viewer')
  const [everybody, setEverybody] = useState(false)
  const create = useAction(identityCreateConnection)
  const submit = async () => {
    const listed = directories.split(/[\s,]+/).filter((id) => id !== '')
    const body: IdentityCreateConnectionBody = {
      name,
      issuer: issuer.trim(),
      client_id: clientId.trim(),
      ...(SHARED.test(issuer) ? { directories: listed } : {}),
      ...(secret === '' ? {} : { client_secret: secret }),
      default_role: role === '' ? null : role,
      create_users: everybody,
    }
    await create.mutateAsync([body])
  }
  if (create.data) return <Registered connection={create.data} done={done} />
  return (
    // The refusal is shown below; there is nothing else to do about it.
    <Form onSubmit={() => submit().catch(() => undefined)}>
      <TextField label="Name" hint="People see it" required value={name} onChange={setName} />
      <TextField
        label="Issuer"
        hint="As the provider writes it, https://…"
        required
        value={issuer}
        onChange={setIssuer}
      />
      {SHARED.test(issuer) && <Directories value={directories} onChange={setDirectories} />}
      <TextField label="Client id" required value={clientId} onChange={setClientId} />
      <TextField
        label="Client secret"
        hint="Stored sealed and never shown; empty: a public client"
        type="password"
        autoComplete="off"
        value={secret}
        onChange={setSecret}
      />
      <NewRole value={role} onChange={setRole} />
      <CheckField
        label="Let everybody of the provider in, not only people who were invited"
        checked={everybody}
        onChange={setEverybody}
      />
      {create.error && <ErrorState error={create.error} />}
      <Button type="submit" kind="primary" busy={create.isPending}>
        Connect
      </Button>
    </Form>
  )
}

function Directories(props: { value: string; onChange: (value: string) => void }) {
  return (
    <TextField
      label="Directories"
      hint="Ids of the Microsoft directories whose people may sign in, separated by commas"
      required
      {...props}
    />
  )
}

function NewRole({ value, onChange }: { value: Role | ''; onChange: (value: Role | '') => void }) {
  return (
    <SelectField
      label="Role of new people"
      value={value}
      options={ROLES}
      onChange={(role) => onChange(ROLES.find(([one]) => one === role)?.[0] ?? 'viewer')}
    />
  )
}

function Registered(props: { readonly connection: SsoConnection; readonly done: () => void }) {
  const { connection, done } = props
  return (
    <Form onSubmit={done}>
      <p>Register these at the provider, then test the connection.</p>
      <CodeBlock label="Redirect URI" text={connection.redirect_uri} />
      <CodeBlock label="Back-channel logout URI" text={connection.backchannel_logout_uri} />
      <Button type="submit" kind="primary">
        Done
      </Button>
    </Form>
  )
}
