// One memory: its content, origin and versions, and actions on it.

import {
  memoryDelete,
  memoryHistory,
  memoryMemory,
  memorySupersede,
} from '@custos/client/operations'
import type { Memory, MemoryVersion } from '@custos/client/types'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock, Id } from '../../parts/code.tsx'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { Facts, Pill } from '../../parts/display.tsx'
import { Form, TextArea, TextField } from '../../parts/form.tsx'
import { VerifyHere } from '../../parts/json-view.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import css from './memory.module.css'

export function OneMemory() {
  const params = useParams({ strict: false })
  const storeId = String(params['storeId'])
  const ref = Number(params['ref'])
  const { data, error, request } = useCall(memoryMemory, [storeId, ref])
  const history = useCall(memoryHistory, [storeId, ref, { limit: 100 }])
  const erased = history.data?.versions.find((version) => version.ref === ref)?.erased
  return (
    <>
      <PageHeader
        title={`Memory ${params['ref']}`}
        about={
          <>
            In store{' '}
            <Link to="/stores/$storeId" params={{ storeId }} search={{}}>
              {storeId}
            </Link>
          </>
        }
        actions={data && <MemoryActions storeId={storeId} memory={data} />}
        request={request}
      />
      {erased ? (
        <EmptyState title="This memory was erased">
          <p>Its content cannot be read any more. Its place in the history is below.</p>
        </EmptyState>
      ) : (
        error && <ErrorState error={error} />
      )}
      {!data && !error && <LoadingState />}
      {data && <MemoryBody memory={data} />}
      {history.data && <Versions versions={history.data.versions} storeId={storeId} at={ref} />}
    </>
  )
}

function MemoryBody({ memory }: { readonly memory: Memory }) {
  const { source, metadata } = memory
  return (
    <>
      <p className={css['content']}>{memory.content}</p>
      <Section title="About it">
        <Facts
          of={[
            ['Valid from', <Time key="t" value={memory.valid_from} />],
            ['Valid until', <Time key="t" value={memory.valid_until} none="no end" />],
            ['Written', <Time key="t" value={memory.written_at} />],
            ['Expires', <Time key="t" value={memory.expires_at} none="never" />],
            ['Namespace', memory.tenant_id],
            ['Tokens', memory.token_count],
            ['Written by credential', <Id key="i" value={source.principal} />],
            ['Signing key', <Id key="i" value={source.key_id} />],
          ]}
        />
      </Section>
      {Object.keys(metadata).length > 0 && (
        <Section title="Metadata">
          <CodeBlock label="Metadata" text={JSON.stringify(metadata, null, 2)} />
        </Section>
      )}
      <Section title="Signature" about="The service signed who wrote this content.">
        <VerifyHere value={memory} />
      </Section>
    </>
  )
}

function Versions(props: {
  readonly versions: readonly MemoryVersion[]
  readonly storeId: string
  readonly at: number
}) {
  const { versions, storeId, at } = props
  return (
    <Section
      title="Versions"
      about="Oldest first. A version that was replaced stays readable until it is erased."
      actions={
        <Link to="/stores/$storeId/timeline" params={{ storeId }} search={{ memory: String(at) }}>
          On the timeline
        </Link>
      }
    >
      <ol className={css['versions']}>
        {versions.map((version) => (
          <li key={version.ref}>
            {version.ref === at ? (
              <strong>{version.ref}</strong>
            ) : (
              <Link
                to="/stores/$storeId/memories/$ref"
                params={{ storeId, ref: String(version.ref) }}
                search={{}}
              >
                {version.ref}
              </Link>
            )}
            <div>
              {version.memory ? (
                version.memory.content
              ) : (
                <Pill tone="warn">{version.erased ? 'erased' : 'expired'}</Pill>
              )}
              <br />
              <small>
                valid <Time value={version.valid_from} /> to{' '}
                <Time value={version.valid_until} none="no end" /> · log position {version.log_seq}
              </small>
            </div>
          </li>
        ))}
      </ol>
    </Section>
  )
}

function MemoryActions({ storeId, memory }: { readonly storeId: string; readonly memory: Memory }) {
  const { can } = useSession()
  const [open, setOpen] = useState<'supersede' | 'erase' | null>(null)
  const [basis, setBasis] = useState('')
  const erase = useAction(memoryDelete)
  if (!can('memory:write')) return null
  const close = () => setOpen(null)
  return (
    <>
      {memory.superseded_by === null && (
        <Button onClick={() => setOpen('supersede')}>Replace</Button>
      )}
      <Button kind="danger" onClick={() => setOpen('erase')}>
        Erase
      </Button>
      <Dialog title={`Replace memory ${memory.ref}`} open={open === 'supersede'} onClose={close}>
        <SupersedeForm storeId={storeId} memory={memory} done={close} />
      </Dialog>
      <ConfirmDialog
        title={`Erase memory ${memory.ref}`}
        open={open === 'erase'}
        onClose={close}
        verb="Erase"
        typed={String(memory.ref)}
        act={() =>
          erase.mutateAsync([
            storeId,
            { ref: memory.ref, legal_basis: basis === '' ? null : basis },
          ])
        }
      >
        <p>
          The content becomes unreadable in every copy, in backups and in decisions that quote it. A
          signed certificate is issued. This cannot be undone.
        </p>
        <TextField
          label="Legal basis"
          hint="Part of the certificate for ever: name no person"
          value={basis}
          onChange={setBasis}
        />
      </ConfirmDialog>
    </>
  )
}

function SupersedeForm(props: {
  readonly storeId: string
  readonly memory: Memory
  readonly done: () => void
}) {
  const { storeId, memory, done } = props
  const [content, setContent] = useState(memory.content)
  const supersede = useAction(memorySupersede)
  const submit = async () => {
    await supersede.mutateAsync([storeId, { old_ref: memory.ref, content }])
    done()
  }
  return (
    // The refusal is shown below; there is nothing else to do about it.
    <Form onSubmit={() => submit().catch(() => undefined)}>
      <p>The new version is valid from now on; the old one stays on record until now.</p>
      <TextArea label="New content" required value={content} onChange={setContent} />
      {supersede.error && <ErrorState error={supersede.error} />}
      <Button type="submit" kind="primary" busy={supersede.isPending}>
        Replace
      </Button>
    </Form>
  )
}
