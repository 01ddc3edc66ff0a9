// The off-boarding of a tenant: its keys are destroyed, which a certificate states.

import { offboardingDestroyKey, offboardingDestruction } from '@custos/client/operations'
import type { Tenant } from '@custos/client/types'
import { useState } from 'react'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { cosignatureRows } from '../../parts/cosignatures.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { Facts, formatNumber, inWords } from '../../parts/display.tsx'
import { TextField } from '../../parts/form.tsx'
import { VerifyHere } from '../../parts/json-view.tsx'
import { Section } from '../../parts/page-header.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { jsonFile, SaveButton } from '../erasure/save-button.tsx'

/** Poll interval: the removal of rows continues after the certificate. */
const POLL_MS = 2_000

interface OffboardingProps {
  readonly tenant: Tenant
}

export const Offboarding = ({ tenant }: OffboardingProps) =>
  tenant.status === 'active' ? <Destroy tenant={tenant} /> : <Destroyed tenant={tenant} />

function Destroy({ tenant: { tenant_id: id, name } }: OffboardingProps) {
  const [asking, setAsking] = useState(false)
  const [basis, setBasis] = useState('end of contract')
  const destroy = useAction(offboardingDestroyKey)
  const confirm = `destroy ${id}`
  return (
    <Section
      title="Off-boarding"
      about="Destroys every key of the tenant, so that nobody can read what it stored."
    >
      <Button kind="danger" onClick={() => setAsking(true)}>
        Destroy the tenant
      </Button>
      <ConfirmDialog
        title={`Destroy ${name || id}`}
        open={asking}
        onClose={() => setAsking(false)}
        verb="Destroy"
        typed={confirm}
        act={() => destroy.mutateAsync([id, { confirm, legal_basis: basis }])}
      >
        <p>It cannot be undone, and backups cannot be read afterwards either.</p>
        <TextField label="Legal basis" required value={basis} onChange={setBasis} />
      </ConfirmDialog>
    </Section>
  )
}

function Destroyed({ tenant: { tenant_id: id } }: OffboardingProps) {
  const { data, error } = useCall(offboardingDestruction, [id], { refetchMs: POLL_MS })
  const certificate = data?.certificate
  return (
    <Section
      title="Off-boarding"
      about="The keys of the tenant are destroyed; its rows are removed afterwards."
      actions={
        certificate && (
          <SaveButton
            label="Save the certificate"
            load={async () => jsonFile(certificate, `tenant-${id}.json`)}
          />
        )
      }
    >
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && (
        <Facts
          of={[
            ['State', data.status],
            ['Requested', <Time key="r" value={data.requested_at} />],
            ['Keys destroyed', <Time key="d" value={data.destroyed_at} />],
            ['Rows', inWords(data.removal.state)],
            ['Legal basis', certificate?.legal_basis],
            ...(data.last_checkpoint
              ? [
                  ['Last checkpoint', data.last_checkpoint.epoch_number] as const,
                  ...cosignatureRows(data.last_checkpoint),
                ]
              : []),
            ...Object.entries(certificate?.counts ?? {}).map(
              ([kind, count]) => [`It had: ${inWords(kind)}`, formatNumber(count)] as const,
            ),
          ]}
        />
      )}
      {certificate && <VerifyHere value={certificate} />}
    </Section>
  )
}
