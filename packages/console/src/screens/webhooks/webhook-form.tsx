// The forms of a new and an existing endpoint, and its secret, which is shown once.

import {
  webhooksCreate,
  webhooksEventTypes,
  webhooksRotateSecret,
  webhooksUpdate,
} from '@custos/client/operations'
import type { Webhook } from '@custos/client/types'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/code.tsx'
import { Form, SelectField, TextArea, TextField } from '../../parts/form.tsx'
import { ErrorState } from '../../parts/states.tsx'
import css from './webhooks.module.css'

const SIGNATURES = [
  ['v1', 'HMAC-SHA256 with a secret'],
  ['v1a', 'Ed25519 with the key of this service'],
] as const

const eventsOf = (text: string): string[] => text.split(/[\s,]+/).filter((name) => name !== '')

function EndpointFields(props: {
  readonly url: string
  readonly events: string
  readonly description: string
  readonly onChange: (change: { url?: string; events?: string; description?: string }) => void
}) {
  const { url, events, description, onChange } = props
  const { data } = useCall(webhooksEventTypes, [])
  return (
    <>
      <TextField
        label="URL"
        hint="https://…"
        required
        value={url}
        onChange={(value) => onChange({ url: value })}
      />
      <TextArea
        label="Events"
        hint="Names, one a line; * for every entry"
        value={events}
        onChange={(value) => onChange({ events: value })}
      />
      <details className={css['names']}>
        <summary>Names of events</summary>
        <p>{data?.event_types.join(', ')}</p>
      </details>
      <TextField
        label="Description"
        hint="What it is for"
        value={description}
        onChange={(value) => onChange({ description: value })}
      />
    </>
  )
}

export function NewWebhook() {
  const [fields, setFields] = useState({ url: '', events: '*', description: '' })
  const [signature, setSignature] = useState<Webhook['signature']>('v1')
  const navigate = useNavigate()
  const create = useAction(webhooksCreate)
  const made = create.data
  if (made)
    return (
      <SecretOnce
        secret={made.secret}
        publicKey={made.public_key}
        done={() => {
          const params = { webhookId: made.webhook_id }
          void navigate({ to: '/webhooks/$webhookId', params, search: {} })
        }}
      />
    )
  const { url, events, description } = fields
  return (
    <Form
      onSubmit={() => create.mutate([{ url, events: eventsOf(events), description, signature }])}
    >
      <EndpointFields {...fields} onChange={(change) => setFields({ ...fields, ...change })} />
      <SelectField
        label="Signature"
        value={signature}
        options={SIGNATURES}
        onChange={(value) => setSignature(value === 'v1a' ? 'v1a' : 'v1')}
      />
      {create.error && <ErrorState error={create.error} />}
      <Button
        type="submit"
        kind="primary"
        busy={create.isPending}
        disabled={url === '' || eventsOf(events).length === 0}
      >
        Create endpoint
      </Button>
    </Form>
  )
}

export function ChangeWebhook({ webhook, done }: { webhook: Webhook; done: () => void }) {
  const { url, description, webhook_id: id } = webhook
  const [fields, setFields] = useState({ url, description, events: webhook.events.join('\n') })
  const update = useAction(webhooksUpdate)
  const submit = async () => {
    await update.mutateAsync([id, { ...fields, events: eventsOf(fields.events) }])
    done()
  }
  return (
    // The refusal is shown below; there is nothing else to do about it.
    <Form onSubmit={() => submit().catch(() => undefined)}>
      <EndpointFields {...fields} onChange={(change) => setFields({ ...fields, ...change })} />
      {update.error && <ErrorState error={update.error} />}
      <Button type="submit" kind="primary" busy={update.isPending}>
        Save
      </Button>
    </Form>
  )
}

export function RotateSecret({ webhook, done }: { webhook: Webhook; done: () => void }) {
  const [hours, setHours] = useState('24')
  const rotate = useAction(webhooksRotateSecret)
  if (rotate.data) return <SecretOnce secret={rotate.data.secret} publicKey={null} done={done} />
  return (
    <Form onSubmit={() => rotate.mutate([webhook.webhook_id, { overlap_hours: Number(hours) }])}>
      <p>A new secret signs at once. The old one signs too until the overlap ends.</p>
      <TextField
        label="Overlap in hours"
        type="number"
        min={0}
        required
        value={hours}
        onChange={setHours}
      />
      {rotate.error && <ErrorState error={rotate.error} />}
      <Button type="submit" kind="primary" busy={rotate.isPending}>
        Rotate the secret
      </Button>
    </Form>
  )
}

function SecretOnce(props: {
  readonly secret: string | null
  readonly publicKey: string | null
  readonly done: () => void
}) {
  const { secret, publicKey, done } = props
  return (
    <Form onSubmit={done}>
      <p>
        {secret === null
          ? 'Deliveries are verified with the public key of this service.'
          : 'This secret is shown once. The receiver verifies deliveries with it.'}
      </p>
      <CodeBlock
        label={secret === null ? 'Public key' : 'Secret'}
        text={secret ?? publicKey ?? ''}
      />
      <Button type="submit" kind="primary">
        I have kept it
      </Button>
    </Form>
  )
}
