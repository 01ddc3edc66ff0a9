// The form of a new key: its rights, and the key itself, which is shown once.

import { keysCreate } from '@custos/client/operations'
import type { KeysCreateBody } from '@custos/client/types'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useAction } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/code.tsx'
import { Form, SelectField, TextField } from '../../parts/form.tsx'
import { ErrorState } from '../../parts/states.tsx'

const CLASSES = [
  ['read_only', 'Read only: sees everything, changes nothing'],
  ['service', 'Service: an agent that writes memories and logs decisions'],
  ['tenant', 'Tenant: everything'],
] as const

export function NewKey({ done }: { readonly done: () => void }) {
  const { caller } = useSession()
  const [name, setName] = useState('')
  const [kind, setKind] = useState<(typeof CLASSES)[number][0]>('service')
  const [stores, setStores] = useState(caller.stores?.join(', ') ?? '')
  const [expires, setExpires] = useState('')
  const create = useAction(keysCreate)
  const submit = async () => {
    const given = stores.split(',').map((store) => store.trim())
    const listed = given.filter((store) => store !== '')
    const body: KeysCreateBody = {
      name,
      class: kind,
      ...(listed.length === 0 ? {} : { allowed_stores: listed }),
      expires_at: expires === '' ? null : `${expires}:00Z`,
    }
    await create.mutateAsync([body])
  }
  if (create.data) return <ShownOnce apiKey={create.data.api_key} done={done} />
  return (
    // The refusal is shown below; there is nothing else to do about it.
    <Form onSubmit={() => submit().catch(() => undefined)}>
      <TextField label="Name" hint="What uses it" required value={name} onChange={setName} />
      <SelectField
        label="Class"
        value={kind}
        options={CLASSES}
        onChange={(value) => setKind(CLASSES.find(([one]) => one === value)?.[0] ?? 'service')}
      />
      <TextField
        label="Stores"
        hint="Ids, separated by commas; empty: all stores"
        value={stores}
        onChange={setStores}
      />
      <TextField
        label="Expires (UTC)"
        hint="Empty: never"
        type="datetime-local"
        value={expires}
        onChange={setExpires}
      />
      {create.error && <ErrorState error={create.error} />}
      <Button type="submit" kind="primary" busy={create.isPending} disabled={name === ''}>
        Create key
      </Button>
    </Form>
  )
}

export function ShownOnce(props: { readonly apiKey: string | null; readonly done: () => void }) {
  const { apiKey, done } = props
  return (
    <Form onSubmit={done}>
      <p>
        {apiKey === null
          ? 'The key was shown before; the service keeps only its digest.'
          : 'This key is shown once. The service keeps only its digest.'}
      </p>
      {apiKey !== null && <CodeBlock label="New key" text={apiKey} />}
      <Button type="submit" kind="primary">
        I have kept it
      </Button>
    </Form>
  )
}
