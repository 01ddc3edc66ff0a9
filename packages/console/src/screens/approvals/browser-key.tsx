// Enrols this browser's key as an approver, and forgets it.

import { call } from '@custos/client/core'
import { approvalsEnroll, approvalsRevoke } from '@custos/client/operations'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import { client } from '../../api/connection.ts'
import { useSession } from '../../api/session.tsx'
import { Button } from '../../parts/button.tsx'
import { Id } from '../../parts/code.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/display.tsx'
import { Form, TextField } from '../../parts/form.tsx'
import { Section } from '../../parts/page-header.tsx'
import { ErrorState } from '../../parts/states.tsx'
import { findKey, forgetKey, keepKey, makeKeyPair, type SigningKey } from './signing-key.ts'

const QUERY = 'approver-key'

/** The key of this browser for the caller's tenant; null if there is none. */
export function useBrowserKey() {
  const { caller } = useSession()
  const tenant = caller.tenant_id ?? ''
  return useQuery({
    queryKey: [QUERY, tenant],
    queryFn: async () => (await findKey(tenant)) ?? null,
    retry: false,
  })
}

export function BrowserKey() {
  const { can } = useSession()
  const { data, error } = useBrowserKey()
  if (!can('compliance:admin')) return null
  return (
    <Section
      title="Your signing key"
      about="Kept in this browser. Nobody can copy it; only its public half is sent."
    >
      {error && <ErrorState error={error} />}
      {data === null && <EnrolForm />}
      {data && <KnownKey signingKey={data} />}
    </Section>
  )
}

function EnrolForm() {
  const { caller } = useSession()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [role, setRole] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const enrol = async () => {
    setBusy(true)
    setError(null)
    try {
      const { private_key, public_key } = await makeKeyPair()
      const body = { name, public_key, role: role === '' ? null : role }
      const { approver_id } = await call(client, approvalsEnroll, body)
      await keepKey(caller.tenant_id ?? '', { approver_id, name, private_key })
      await queries.invalidateQueries()
    } catch (caught) {
      setError(caught)
    }
    setBusy(false)
  }
  return (
    <Form inline label="Enrol" onSubmit={enrol}>
      <TextField label="Your name" required maxLength={200} value={name} onChange={setName} />
      <TextField label="Your role" maxLength={200} value={role} onChange={setRole} />
      <Button type="submit" icon={KeyRound} busy={busy}>
        Make a key and enrol
      </Button>
      {error !== null && <ErrorState error={error} />}
    </Form>
  )
}

function KnownKey({ signingKey }: { readonly signingKey: SigningKey }) {
  const { caller } = useSession()
  const queries = useQueryClient()
  const [open, setOpen] = useState(false)
  const forget = async () => {
    await call(client, approvalsRevoke, signingKey.approver_id)
    await forgetKey(caller.tenant_id ?? '')
    await queries.invalidateQueries()
  }
  return (
    <>
      <Facts
        of={[
          ['Approver', signingKey.name],
          ['Id', <Id key="i" value={signingKey.approver_id} />],
        ]}
      />
      <p>
        <Button kind="danger" onClick={() => setOpen(true)}>
          Revoke and forget
        </Button>
      </p>
      <ConfirmDialog
        title="Revoke this key"
        open={open}
        onClose={() => setOpen(false)}
        verb="Revoke"
        act={forget}
      >
        <p>The key signs nothing more. What it signed stays valid.</p>
      </ConfirmDialog>
    </>
  )
}
