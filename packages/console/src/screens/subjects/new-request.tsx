// A new request of a data subject: the person, the data found, and then the answer.

import { call } from '@custos/client/core'
import { subjectsAccess, subjectsErase } from '@custos/client/operations'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { formatTime, nowMs } from '../../ambient.ts'
import { client } from '../../api/connection.ts'
import { useSession } from '../../api/session.tsx'
import { useUrlChange } from '../../api/url-state.ts'
import { useAction } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { CheckField, Form, TextArea, TextField } from '../../parts/form.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { fileOf, SaveButton } from '../../parts/save-button.tsx'
import { ErrorState } from '../../parts/states.tsx'
import { type ErasureReason, FIRST_REASON, ReasonFields, Step, Steps } from '../erasure/steps.tsx'
import {
  FoundView,
  groupsOf,
  NOBODY,
  type PersonFields,
  type SubjectPreview,
  searchOf,
} from './found-view.tsx'
import { totalOf } from './request-pills.tsx'

const TITLES = { erase: 'New erasure request', access: 'New access request' } as const

// The person's identification stays in this page and not in the URL, which is logged and shared.
export function NewRequest({ kind }: { readonly kind: 'erase' | 'access' }) {
  const [person, setPerson] = useState(NOBODY)
  const [preview, setPreview] = useState<SubjectPreview | null>(null)
  const [seen, setSeen] = useState(false)
  const [reason, setReason] = useState<ErasureReason | null>(null)
  const now = !preview ? 1 : !seen ? 2 : kind === 'erase' && !reason ? 3 : 4
  const stateOf = (step: number) => (step < now ? 'done' : step === now ? 'now' : 'later')
  const back = () => {
    setPreview(null)
    setSeen(false)
    setReason(null)
  }
  return (
    <>
      <NewRequestHeader kind={kind} />
      <Steps label={TITLES[kind]}>
        <Step
          title="Who is it about?"
          state={stateOf(1)}
          summary={
            <Button kind="quiet" onClick={back}>
              Change the search
            </Button>
          }
        >
          <PersonForm
            person={person}
            onFound={(next, found) => {
              setPerson(next)
              setPreview(found)
            }}
          />
        </Step>
        <Step
          title="Look at what is held"
          state={stateOf(2)}
          summary={preview && `${totalOf(preview.found)} items, ${preview.found.held} on hold`}
        >
          {preview && (
            <FoundView
              preview={preview}
              onContinue={() => setSeen(true)}
              letter={kind === 'erase' && <AccessFile person={person} format="pdf" />}
            />
          )}
        </Step>
        {kind === 'erase' && (
          <Step title="Say why" state={stateOf(3)} summary={reason?.legal_basis}>
            <ReasonForm onReason={setReason} />
          </Step>
        )}
        <Step title={kind === 'erase' ? 'Erase it' : 'Hand it over'} state={stateOf(4)}>
          {kind === 'access' && <AccessFiles person={person} />}
          {preview && reason && <EraseAll person={person} preview={preview} reason={reason} />}
        </Step>
      </Steps>
    </>
  )
}

function NewRequestHeader({ kind }: { readonly kind: 'erase' | 'access' }) {
  const change = useUrlChange()
  return (
    <PageHeader
      title={TITLES[kind]}
      about="Nothing is changed before the last step."
      actions={<Button onClick={() => change({ new: '' })}>Back to all requests</Button>}
    />
  )
}

function PersonForm(props: {
  readonly person: PersonFields
  readonly onFound: (person: PersonFields, preview: SubjectPreview) => void
}) {
  const { person, onFound } = props
  const [fields, setFields] = useState(person)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const put = (change: Partial<PersonFields>) => setFields({ ...fields, ...change })
  const find = async () => {
    setBusy(true)
    setError(null)
    try {
      const reply = await call(client, subjectsErase, { ...searchOf(fields), preview: true })
      if ('preview' in reply) onFound(fields, reply)
    } catch (caught) {
      setError(caught)
    }
    setBusy(false)
  }
  return (
    <Form label="Who is it about?" onSubmit={find}>
      <TextArea
        label="Names, addresses, customer numbers"
        hint="One on each line. Everything that contains one of them is found."
        value={fields.texts}
        onChange={(texts) => put({ texts })}
      />
      <CheckField
        label="Upper and lower case must be the same"
        checked={fields.exactCase}
        onChange={(exactCase) => put({ exactCase })}
      />
      <MoreFields fields={fields} put={put} />
      <TextField
        label="When the person asked"
        hint="The due date is one month later. Empty: today"
        type="date"
        max={formatTime(nowMs()).slice(0, 10)}
        value={fields.received}
        onChange={(received) => put({ received })}
      />
      {error !== null && <ErrorState error={error} />}
      <Button type="submit" kind="primary" busy={busy} disabled={groupsOf(fields).length === 0}>
        Search everything
      </Button>
    </Form>
  )
}

function MoreFields(props: {
  readonly fields: PersonFields
  readonly put: (change: Partial<PersonFields>) => void
}) {
  const { fields, put } = props
  return (
    <details>
      <summary>More ways to find the person</summary>
      <TextArea
        label="Metadata"
        hint="One on each line, for example customer = 4411"
        rows={2}
        value={fields.metadata}
        onChange={(metadata) => put({ metadata })}
      />
      <TextArea
        label="Sessions"
        hint="Ids of conversations, one on each line"
        rows={2}
        value={fields.sessions}
        onChange={(sessions) => put({ sessions })}
      />
    </details>
  )
}

function ReasonForm({ onReason }: { readonly onReason: (reason: ErasureReason) => void }) {
  const [reason, setReason] = useState(FIRST_REASON)
  return (
    <Form label="Reason" onSubmit={() => onReason(reason)}>
      <ReasonFields value={reason} onChange={setReason} />
      <Button type="submit" kind="primary">
        Continue
      </Button>
    </Form>
  )
}

function EraseAll(props: {
  readonly person: PersonFields
  readonly preview: SubjectPreview
  readonly reason: ErasureReason
}) {
  const { person, preview, reason } = props
  const [open, setOpen] = useState(false)
  const navigate = useNavigate()
  const erase = useAction(subjectsErase)
  const total = totalOf(preview.found)
  const act = async () => {
    const body = { ...searchOf(person), ...reason, expect_digest: preview.digest }
    const reply = await erase.mutateAsync([body])
    if ('request_id' in reply)
      await navigate({
        to: '/subjects/$requestId',
        params: { requestId: reply.request_id },
        search: {},
      })
  }
  return (
    <>
      <p>
        {total === 0
          ? 'Nothing was found. The request is recorded all the same, and its manifest says so.'
          : 'Exactly what you looked at is erased. If it has changed since, you search again.'}
      </p>
      <Button kind="danger" onClick={() => setOpen(true)}>
        Erase everything found
      </Button>
      <ConfirmDialog
        title="Erase everything found"
        open={open}
        onClose={() => setOpen(false)}
        verb="Erase"
        typed="erase"
        act={act}
      >
        <p>
          {total === 1 ? '1 item becomes' : `${total} items become`} unreadable in every copy and in
          backups; what a legal hold protects is kept. Each has a signed certificate. This cannot be
          undone.
        </p>
      </ConfirmDialog>
    </>
  )
}

const FORMATS = {
  pdf: 'Letter as PDF',
  html: 'Page for a browser',
  json: 'JSON for another service',
} as const

function AccessFile(props: {
  readonly person: PersonFields
  readonly format: keyof typeof FORMATS
  readonly primary?: boolean
}) {
  const { person, format, primary } = props
  const { can } = useSession()
  if (!can('memory:read') || !can('decisions:read')) return null
  return (
    <SaveButton
      label={FORMATS[format]}
      kind={primary ? 'primary' : 'plain'}
      load={async () =>
        fileOf(
          await call(client, subjectsAccess, searchOf(person), { format }),
          `held-about-a-person.${format}`,
        )
      }
    />
  )
}

function AccessFiles({ person }: { readonly person: PersonFields }) {
  const { can } = useSession()
  if (!can('memory:read') || !can('decisions:read'))
    return <p>The contents are shown, so your key needs memory:read and decisions:read as well.</p>
  return (
    <>
      <p>
        The letter lists everything with its source. Read it before you send it: it may name other
        people too. Each document is recorded as an answered request.
      </p>
      {(['pdf', 'html', 'json'] as const).map((format) => (
        <AccessFile key={format} person={person} format={format} primary={format === 'pdf'} />
      ))}
    </>
  )
}
