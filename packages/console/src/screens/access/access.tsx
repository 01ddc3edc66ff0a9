// Access to the tenant: keys, people, signed-in browsers and approvers.

import {
  approvalsApprovers,
  identityRevokeSession,
  identitySessions,
  keysList,
  keysRevoke,
  tenantsRotateKey,
} from '@custos/client/operations'
import type { Approver, Key, PortalSession } from '@custos/client/types'
import { Plus, RefreshCw } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useAction, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Id } from '../../parts/code.tsx'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { Pill } from '../../parts/display.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { NewKey, ShownOnce } from './new-key.tsx'
import { People } from './people.tsx'

export function Access() {
  const { can, caller } = useSession()
  const [creating, setCreating] = useState(false)
  return (
    <>
      <PageHeader
        title="Keys & access"
        about="Keys of programs, people with their roles, signed-in browsers, approvers."
        actions={
          <>
            <Button kind="primary" icon={Plus} onClick={() => setCreating(true)}>
              New key
            </Button>
            <RotateButton />
          </>
        }
      />
      <Section title="Keys">
        <Keys />
      </Section>
      {can('sso:admin') && caller.stores === null && <People />}
      <Section title="Signed-in browsers">
        <Sessions />
      </Section>
      {can('compliance:read') && (
        <Section title="Approvers" about="People who are enrolled with a key of their own.">
          <Approvers />
        </Section>
      )}
      <Dialog title="New key" open={creating} onClose={() => setCreating(false)}>
        <NewKey done={() => setCreating(false)} />
      </Dialog>
    </>
  )
}

const KEY_COLUMNS: readonly Column<Key>[] = [
  { id: 'name', header: 'Name', grow: true, cell: ({ name }) => name || '–' },
  { id: 'id', header: 'Id', cell: ({ key_id }) => <code>{key_id}</code> },
  { id: 'prefix', header: 'Begins with', cell: ({ prefix }) => <code>{prefix}…</code> },
  { id: 'class', header: 'Class', cell: (key) => key.class.replace('_', ' ') },
  {
    id: 'scopes',
    header: 'Scopes',
    optional: true,
    cell: ({ scopes }) => scopes.join(', '),
  },
  {
    id: 'stores',
    header: 'Stores',
    cell: ({ allowed_stores: stores, namespace }) =>
      `${stores.length === 0 ? 'all' : stores.join(', ')}${namespace ? `, ${namespace}` : ''}`,
  },
  { id: 'created', header: 'Created (UTC)', cell: ({ created_at }) => <Time value={created_at} /> },
  {
    id: 'expires',
    header: 'Expires',
    optional: true,
    cell: ({ expires_at }) => <Time value={expires_at} none="never" />,
  },
  { id: 'state', header: 'State', cell: (key) => <KeyState apiKey={key} /> },
]

function KeyState({ apiKey }: { readonly apiKey: Key }) {
  const [asking, setAsking] = useState(false)
  const { caller } = useSession()
  const revoke = useAction(keysRevoke)
  if (apiKey.revoked_at !== null) return <Pill tone="warn">revoked</Pill>
  return (
    <>
      <Button kind="danger" onClick={() => setAsking(true)} aria-label={`Revoke ${apiKey.key_id}`}>
        Revoke
      </Button>
      <ConfirmDialog
        title={`Revoke the key ${apiKey.name}`}
        open={asking}
        onClose={() => setAsking(false)}
        verb="Revoke"
        act={() => revoke.mutateAsync([apiKey.key_id])}
      >
        <p>
          Programs that use it are refused at once, and browsers that signed in with it are signed
          out.
        </p>
        {caller.key_id === apiKey.key_id && <p>You are signed in with this key.</p>}
      </ConfirmDialog>
    </>
  )
}

function Keys() {
  const list = useList(keysList, [usePage()], ({ keys }) => keys)
  return (
    <Table
      label="Keys"
      list={list}
      columns={KEY_COLUMNS}
      rowId={({ key_id }) => key_id}
      empty={
        <EmptyState title="No keys">
          <p>Local mode needs none; a program on another machine does.</p>
        </EmptyState>
      }
    />
  )
}

function RotateButton() {
  const { caller } = useSession()
  const [asking, setAsking] = useState(false)
  const rotate = useAction(tenantsRotateKey)
  const tenant = caller.tenant_id
  if (tenant === null || caller.mode === 'local') return null
  return (
    <>
      <Button icon={RefreshCw} onClick={() => setAsking(true)}>
        Rotate
      </Button>
      <ConfirmDialog
        title="Rotate the key of the tenant"
        open={asking}
        onClose={() => setAsking(false)}
        verb="Rotate"
        typed="rotate"
        act={() => rotate.mutateAsync([tenant])}
      >
        <p>
          A new key replaces the keys of class tenant, which stop working at once; you are signed
          out where you signed in with one.
        </p>
      </ConfirmDialog>
      <Dialog title="The new key" open={rotate.data !== undefined} onClose={() => rotate.reset()}>
        {rotate.data && <ShownOnce apiKey={rotate.data.api_key} done={() => rotate.reset()} />}
      </Dialog>
    </>
  )
}

const SESSION_COLUMNS: readonly Column<PortalSession>[] = [
  {
    id: 'session',
    header: 'Session',
    grow: true,
    cell: ({ session_id, current }) => (
      <>
        <code>{session_id}</code> {current && <Pill tone="accent">this browser</Pill>}
      </>
    ),
  },
  {
    id: 'key',
    header: 'Key or person',
    cell: ({ key_id, user_id }) => <Id value={user_id ?? key_id ?? '–'} copy={false} />,
  },
  { id: 'created', header: 'Since (UTC)', cell: ({ created_at }) => <Time value={created_at} /> },
  { id: 'used', header: 'Last used', cell: ({ used_at }) => <Time value={used_at} relative /> },
  { id: 'end', header: '', cell: (session) => <EndSession session={session} /> },
]

function EndSession({ session }: { readonly session: PortalSession }) {
  const end = useAction(identityRevokeSession)
  return (
    <Button
      kind="danger"
      busy={end.isPending}
      aria-label={`End session ${session.session_id}`}
      onClick={() => end.mutate([session.session_id])}
    >
      End
    </Button>
  )
}

function Sessions() {
  const name = 'sessions_'
  const list = useList(identitySessions, [usePage(name)], ({ sessions }) => sessions)
  return (
    <Table
      name={name}
      label="Signed-in browsers"
      list={list}
      columns={SESSION_COLUMNS}
      rowId={({ session_id }) => session_id}
      empty={<EmptyState title="No browser is signed in" />}
    />
  )
}

const APPROVER_COLUMNS: readonly Column<Approver>[] = [
  { id: 'name', header: 'Name', grow: true, cell: ({ name }) => name },
  { id: 'role', header: 'Role', cell: ({ role }) => role ?? '–' },
  { id: 'key', header: 'Public key', cell: ({ public_key }) => <Id value={public_key} /> },
  {
    id: 'state',
    header: 'State',
    cell: ({ active }) => (
      <Pill tone={active ? 'good' : 'warn'}>{active ? 'active' : 'revoked'}</Pill>
    ),
  },
]

function Approvers() {
  const name = 'approvers_'
  const list = useList(approvalsApprovers, [usePage(name)], ({ approvers }) => approvers)
  return (
    <Table
      name={name}
      label="Approvers"
      list={list}
      columns={APPROVER_COLUMNS}
      rowId={({ approver_id }) => approver_id}
      empty={<EmptyState title="No approvers" />}
    />
  )
}
