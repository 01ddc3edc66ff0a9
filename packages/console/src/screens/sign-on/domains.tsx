// E-mail domains of a connection: verified by DNS, or dropped.

import { identityDropDomain, identityVerifyDomain } from '@custos/client/operations'
import type { SsoConnection } from '@custos/client/types'
import { useState } from 'react'
import { useAction } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/code.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/display.tsx'
import { Form, TextField } from '../../parts/form.tsx'
import { ErrorState } from '../../parts/states.tsx'

const PROBLEMS = {
  record_missing: 'The record is not there yet. Publish it, then prove the domain again.',
  unreachable: 'No name server answers for the domain.',
} as const

export function Domains({ connection }: { readonly connection: SsoConnection }) {
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
