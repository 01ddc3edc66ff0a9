// How people of the tenant sign in: connections to OpenID providers, and their proved domains.

import {
  identityConnections,
  identityDeleteConnection,
  identityDropDomain,
  identityTest,
  identityUpdateConnection,
  identityVerifyDomain,
} from '@custos/client/operations'
import type { SsoConnection } from '@custos/client/types'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useAction, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/code.tsx'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { Facts, Pill } from '../../parts/display.tsx'
import { Form, TextField } from '../../parts/form.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
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

function Details(props: { readonly connection: SsoConnection; readonly remove: () => void }) {
  const { connection, remove } = props
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

const PROBLEMS = {
  record_missing: 'The record is not there yet. Publish it, then prove the domain again.',
  unreachable: 'No name server answers for the domain.',
} as const

function Domains({ connection }: { readonly connection: SsoConnection }) {
  const { connection_id: id, domains, directories } = connection
  const [domain, setDomain] = useState('')
  const verify = useAction(identityVerifyDomain)
  const proof = verify.data
  const listed = domains.map((one) => (
    <DropDomain key={one} id={id} domain={one} done={verify.reset} />
  ))
  return (
    <>
      <Facts
        of={[
          ['Domains', domains.length === 0 ? 'none: invitations are not taken through it' : listed],
          ['Directories', directories.join(', ')],
        ]}
      />
      <Form inline label="Prove a domain" onSubmit={() => verify.mutate([id, { domain }])}>
        <TextField
          label="Domain of e-mail addresses"
          required
          value={domain}
          onChange={(text) => setDomain(text.trim().toLowerCase())}
        />
        <Button type="submit" busy={verify.isPending}>
          Prove
        </Button>
      </Form>
      {proof && (
        <p role="status">
          {proof.problem === null
            ? `${proof.domain} belongs to this connection.`
            : PROBLEMS[proof.problem]}
        </p>
      )}
      {proof?.verified === false && (
        <CodeBlock label={`TXT record of ${proof.record.name}`} text={proof.record.value} />
      )}
      {verify.error && <ErrorState error={verify.error} />}
    </>
  )
}

function DropDomain({ id, domain, done }: { id: string; domain: string; done: () => void }) {
  const [asking, setAsking] = useState(false)
  const drop = useAction(identityDropDomain)
  return (
    <div>
      {domain}{' '}
      <Button aria-label={`Drop ${domain}`} onClick={() => setAsking(true)}>
        Drop
      </Button>
      <ConfirmDialog
        title={`Drop ${domain}`}
        open={asking}
        onClose={() => setAsking(false)}
        verb="Drop"
        act={async () => {
          await drop.mutateAsync([id, domain])
          done()
        }}
      >
        <p>
          Invitations to addresses of {domain} can no longer be taken by signing in through this
          connection, until the domain is proved again. People who have signed in stay, and so do
          their sessions. The domain can then be proved for another connection.
        </p>
      </ConfirmDialog>
    </div>
  )
}
