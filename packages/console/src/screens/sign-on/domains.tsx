// Domains of e-mail addresses of a connection, and the proof of a further one by DNS.

import { identityVerifyDomain } from '@custos/client/operations'
import type { SsoConnection } from '@custos/client/types'
import { useState } from 'react'
import { useAction } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/code.tsx'
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
  return (
    <>
      <Facts
        of={[
          ['Domains', domains.join(', ') || 'none: invitations are not taken through it'],
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
