// How people of the tenant sign in: connections to OpenID providers.

import {
  identityConnections,
  identityDeleteConnection,
  identityTest,
  identityUpdateConnection,
} from '@custos/client/operations'
import type { SsoConnection } from '@custos/client/types'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useAction } from '../../api/use-call.ts'
import { useList, usePage } from '../../api/use-list.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/code.tsx'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { Pill } from '../../parts/display.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { Domains } from './domains.tsx'
import { NewConnection } from './new-connection.tsx'

export function SignOn() {
  const [creating, setCreating] = useState(false)
  return (
    <>
      <PageHeader
        title="Single sign-on"
        about="Providers that people of the tenant sign in with."
        actions={
          <Button kind="primary" icon={Plus} onClick={() => setCreating(true)}>
            New connection
          </Button>
        }
      />
      <Section title="Connections">
        <Connections />
      </Section>
      <Dialog title="New connection" open={creating} onClose={() => setCreating(false)}>
        <NewConnection done={() => setCreating(false)} />
      </Dialog>
    </>
  )
}

const COLUMNS: readonly Column<SsoConnection>[] = [
  { id: 'name', header: 'Name', grow: true, cell: ({ name }) => name },
  { id: 'issuer', header: 'Issuer', grow: true, cell: ({ issuer }) => issuer },
  {
    id: 'people',
    header: 'People',
    cell: ({ create_users: all }) => (all ? 'all of the provider' : 'invited ones'),
  },
  {
    id: 'role',
    header: 'Role',
    cell: ({ default_role: role, role_map: map }) =>
      map.length === 0 ? (role ?? 'as invited') : `${map.length} mapped`,
  },
  {
    id: 'changed',
    header: 'Changed',
    cell: ({ changed_at }) => <Time value={changed_at} relative />,
  },
  {
    id: 'state',
    header: 'State',
    cell: ({ enabled, enforced }) => (
      <Pill tone={enabled ? 'good' : 'warn'}>
        {enabled ? (enforced ? 'enforced' : 'on') : 'off'}
      </Pill>
    ),
  },
  { id: 'manage', header: '', cell: (connection) => <Manage connection={connection} /> },
]

function Connections() {
  const list = useList(identityConnections, [usePage()], ({ connections }) => connections)
  return (
    <Table
      label="Connections"
      list={list}
      columns={COLUMNS}
      rowId={({ connection_id }) => connection_id}
      empty={
        <EmptyState title="No connections">
          <p>People sign in with keys or invitations until there is one.</p>
        </EmptyState>
      }
    />
  )
}

function Manage({ connection }: { readonly connection: SsoConnection }) {
  const [open, setOpen] = useState(false)
  const [deleting, setDeleting] = useState(false)
  const remove = useAction(identityDeleteConnection)
  const { connection_id: id, name } = connection
  return (
    <>
      <Button onClick={() => setOpen(true)} aria-label={`Manage ${name}`}>
        Manage
      </Button>
      <Dialog title={name} open={open} onClose={() => setOpen(false)} wide>
        <Details connection={connection} remove={() => setDeleting(true)} />
      </Dialog>
      <ConfirmDialog
        title={`Delete ${name}`}
        open={deleting}
        onClose={() => setDeleting(false)}
        verb="Delete"
        act={async () => {
          await remove.mutateAsync([id])
          setOpen(false)
        }}
      >
        <p>Sessions that were begun through it end at once. The people stay.</p>
      </ConfirmDialog>
    </>
  )
}

function Details({
  connection,
  remove,
}: {
  readonly connection: SsoConnection
  readonly remove: () => void
}) {
  const { connection_id: id, enabled, enforced, redirect_uri, public_jwk } = connection
  const test = useAction(identityTest)
  const update = useAction(identityUpdateConnection)
  return (
    <>
      <CodeBlock label="Redirect URI to register" text={redirect_uri} />
      <CodeBlock label="Back-channel logout URI" text={connection.backchannel_logout_uri} />
      <Domains connection={connection} />
      {public_jwk && <CodeBlock label="Public key to register" text={JSON.stringify(public_jwk)} />}
      <div>
        <Button busy={test.isPending} onClick={() => test.mutate([id])}>
          Test
        </Button>{' '}
        <Button busy={update.isPending} onClick={() => update.mutate([id, { enabled: !enabled }])}>
          {enabled ? 'Switch off' : 'Switch on'}
        </Button>{' '}
        <Button
          busy={update.isPending}
          onClick={() => update.mutate([id, { enforced: !enforced }])}
        >
          {enforced ? 'Allow other ways to sign in' : 'Enforce for people'}
        </Button>{' '}
        <Button kind="danger" onClick={remove}>
          Delete
        </Button>
      </div>
      {test.data && (
        <p role="status">
          {test.data.ok
            ? `The provider answers and publishes ${test.data.keys} keys.`
            : `Something is wrong: ${test.data.problem?.replaceAll('_', ' ')}.`}
        </p>
      )}
      {test.error && <ErrorState error={test.error} />}
      {update.error && <ErrorState error={update.error} />}
    </>
  )
}
