// People of the tenant: who they are, what they may do, how they are invited and removed.

import {
  identityInvite,
  identityRemoveUser,
  identityUpdateUser,
  identityUsers,
} from '@custos/client/operations'
import type { User } from '@custos/client/types'
import { UserPlus } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useAction, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/code.tsx'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { Pill } from '../../parts/display.tsx'
import { CheckFields, Form, TextField } from '../../parts/form.tsx'
import { Section } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'

const ROLES = [
  ['viewer', 'Viewer: reads memories, decisions and artifacts'],
  ['auditor', 'Auditor: reads all but certificates, runs, keys and people'],
  ['approver', 'Approver: reads, approves; manages approvers, holds and reports'],
  ['operator_of_stores', 'Operator of stores: reads, writes and erases memories'],
  ['admin', 'Admin: everything, but neither makes nor changes owners'],
  ['owner', 'Owner: everything in the tenant'],
] as const satisfies readonly (readonly [User['roles'][number], string])[]

const COLUMNS: readonly Column<User>[] = [
  { id: 'name', header: 'Name', grow: true, cell: ({ name, email }) => name || email },
  { id: 'email', header: 'E-mail', cell: ({ email }) => email || '–' },
  {
    id: 'roles',
    header: 'Roles',
    cell: ({ roles }) => roles.map((role) => role.replaceAll('_', ' ')).join(', '),
  },
  {
    id: 'stores',
    header: 'Stores',
    optional: true,
    cell: ({ stores }) => stores?.join(', ') ?? 'all',
  },
  { id: 'since', header: 'Since (UTC)', cell: ({ created_at }) => <Time value={created_at} /> },
  { id: 'state', header: 'State', cell: (user) => <UserState user={user} /> },
  { id: 'change', header: '', cell: (user) => <Change user={user} /> },
]

function UserState({ user: { state, invited_until } }: { readonly user: User }) {
  if (state === 'active') return <Pill tone="good">active</Pill>
  return (
    <>
      <Pill tone="warn">invited</Pill> until <Time value={invited_until} />
    </>
  )
}

export function People() {
  const { caller } = useSession()
  const [inviting, setInviting] = useState(false)
  const name = 'people_'
  const list = useList(identityUsers, [usePage(name)], ({ users }) => users)
  return (
    <Section title="People" about="Who signs in as a person, and with which roles.">
      {caller.tenant_id !== null && (
        <p>
          <Button icon={UserPlus} onClick={() => setInviting(true)}>
            Invite a person
          </Button>
        </p>
      )}
      <Table
        name={name}
        label="People"
        list={list}
        columns={COLUMNS}
        rowId={({ user_id }) => user_id}
        empty={
          <EmptyState title="No people">
            <p>Programs use keys. Invite people, or connect a provider under Single sign-on.</p>
          </EmptyState>
        }
      />
      <Dialog title="Invite a person" open={inviting} onClose={() => setInviting(false)}>
        <Invite tenant={caller.tenant_id ?? ''} done={() => setInviting(false)} />
      </Dialog>
    </Section>
  )
}

/** The choice of roles. Only owners may grant the role `owner`. */
function Roles(props: { value: User['roles']; onChange: (roles: User['roles']) => void }) {
  const { value, onChange } = props
  const { can } = useSession()
  const offered = ROLES.filter(([role]) => role !== 'owner' || can('*') || value.includes(role))
  return <CheckFields legend="Roles" options={offered} value={value} onChange={onChange} />
}

function Invite({ tenant, done }: { readonly tenant: string; readonly done: () => void }) {
  const [email, setEmail] = useState('')
  const [name, setName] = useState('')
  const [roles, setRoles] = useState<User['roles']>(['viewer'])
  const invite = useAction(identityInvite)
  if (invite.data) return <Invited invitation={invite.data.invitation} done={done} />
  return (
    <Form
      onSubmit={() =>
        invite.mutate([
          tenant,
          { email: email.trim(), roles, ...(name.trim() === '' ? {} : { name: name.trim() }) },
        ])
      }
    >
      <TextField
        label="E-mail"
        hint="Custos sends no mail: you pass the invitation on"
        type="email"
        required
        value={email}
        onChange={setEmail}
      />
      <TextField label="Name" hint="May be empty" value={name} onChange={setName} />
      <Roles value={roles} onChange={setRoles} />
      {invite.error && <ErrorState error={invite.error} />}
      <Button type="submit" kind="primary" busy={invite.isPending} disabled={roles.length === 0}>
        Invite
      </Button>
    </Form>
  )
}

function Invited({ invitation, done }: { readonly invitation: string; readonly done: () => void }) {
  return (
    <Form onSubmit={done}>
      <p>
        This invitation is shown once and can be taken once, within 7 days. Send it to the person,
        who enters it on the sign-in page.
      </p>
      <CodeBlock label="Invitation" text={invitation} />
      <p>
        Where the domain of the address is proved under Single sign-on, the person signs in through
        the provider instead, which takes the invitation. Elsewhere the session ends after a day,
        and only owners and admins can make themselves a key to come back with.
      </p>
      <Button type="submit" kind="primary">
        I have kept it
      </Button>
    </Form>
  )
}

function Change({ user }: { readonly user: User }) {
  const [open, setOpen] = useState(false)
  const [removing, setRemoving] = useState(false)
  const remove = useAction(identityRemoveUser)
  const who = user.name || user.email
  return (
    <>
      <Button onClick={() => setOpen(true)} aria-label={`Change ${who}`}>
        Change
      </Button>
      <Dialog title={who} open={open} onClose={() => setOpen(false)}>
        <ChangeRoles user={user} done={() => setOpen(false)} remove={() => setRemoving(true)} />
      </Dialog>
      <ConfirmDialog
        title={`Remove ${who}`}
        open={removing}
        onClose={() => setRemoving(false)}
        verb="Remove"
        act={async () => {
          await remove.mutateAsync([user.user_id, {}])
          setOpen(false)
        }}
      >
        <p>
          Their sessions end and keys that they made are revoked. Name and address are destroyed;
          the audit log keeps the id of the person.
        </p>
      </ConfirmDialog>
    </>
  )
}

function ChangeRoles(props: { user: User; done: () => void; remove: () => void }) {
  const { user, done, remove } = props
  const [roles, setRoles] = useState<User['roles']>([...user.roles])
  const update = useAction(identityUpdateUser)
  const save = () => update.mutateAsync([user.user_id, { roles }]).then(done)
  return (
    // The refusal is shown below; there is nothing else to do about it.
    <Form onSubmit={() => save().catch(() => undefined)}>
      <Roles value={roles} onChange={setRoles} />
      <p>With other roles their sessions end, and so do keys of theirs that may do more.</p>
      {update.error && <ErrorState error={update.error} />}
      <div>
        <Button type="submit" kind="primary" busy={update.isPending} disabled={roles.length === 0}>
          Save
        </Button>{' '}
        <Button kind="danger" onClick={remove}>
          Remove
        </Button>
      </div>
    </Form>
  )
}
