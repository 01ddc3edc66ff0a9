// This browser as a witness: it stores the last checkpoint and detects changes of the log below it.

import { call } from '@custos/client/core'
import { gcrumbsPublicKey } from '@custos/client/operations'
import type { WitnessResult } from '@custos/client/verify'
import { ShieldCheck } from 'lucide-react'
import { useState } from 'react'
import { preferences } from '../../ambient.ts'
import { client } from '../../api/connection.ts'
import { useSession } from '../../api/session.tsx'
import { Button } from '../../parts/button.tsx'
import { cosignatureRows, Facts } from '../../parts/display.tsx'
import { Section } from '../../parts/page-header.tsx'
import { ErrorState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'

/** Runs the witness. Checkpoints are stored per tenant, because each tenant has its own log. */
export async function lookAtLog(tenant: string): Promise<WitnessResult> {
  const storage = {
    get: (name: string) => preferences.get(`${name} ${tenant}`),
    set: (name: string, value: string) => preferences.set(`${name} ${tenant}`, value),
  }
  const [{ witness }, keys] = await Promise.all([
    import('@custos/client/witness'),
    call(client, gcrumbsPublicKey),
  ])
  return witness(client, storage, keys)
}

export function CheckpointWatch() {
  const { caller } = useSession()
  const [result, setResult] = useState<WitnessResult | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const run = async () => {
    setBusy(true)
    setError(null)
    try {
      setResult(await lookAtLog(caller.tenant_id ?? ''))
    } catch (caught) {
      setError(caught)
    }
    setBusy(false)
  }
  return (
    <Section
      title="Checkpoint"
      about="Verify that the audit log has only grown since this browser last looked."
      actions={
        <Button icon={ShieldCheck} busy={busy} onClick={() => void run()}>
          Verify now
        </Button>
      }
    >
      {error !== null && <ErrorState error={error} />}
      <div role="status">{result && <Seen result={result} />}</div>
    </Section>
  )
}

function Seen({ result: { epoch, previous } }: { readonly result: WitnessResult }) {
  if (!epoch) return <p>The audit log has no checkpoint yet.</p>
  return (
    <Facts
      of={[
        ['Newest checkpoint', `${epoch.epoch_number}, ${epoch.tree_size} entries`],
        ['Signed', <Time key="t" value={epoch.created_at} />],
        ...cosignatureRows(epoch),
        [
          'Verified',
          previous
            ? `extends checkpoint ${previous.epoch_number}, which this browser kept`
            : 'signature; kept as the first one seen',
        ],
      ]}
    />
  )
}
