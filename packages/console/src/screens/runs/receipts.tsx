// The receipts of a run, and their verification in this browser from the bundle of the run.

import { call } from '@custos/client/core'
import {
  gcrumbsPublicKey,
  orchestratorBundle,
  orchestratorReceipts,
} from '@custos/client/operations'
import type { Run } from '@custos/client/types'
import { useMutation } from '@tanstack/react-query'
import { Download, ShieldCheck } from 'lucide-react'
import { client } from '../../api/connection.ts'
import { useSession } from '../../api/session.tsx'
import { useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/code.tsx'
import { counted } from '../../parts/display.tsx'
import { saveLines } from '../../parts/download.ts'
import { VerdictView } from '../../parts/json-view.tsx'
import { Section } from '../../parts/page-header.tsx'
import { ErrorState } from '../../parts/states.tsx'
import css from './runs.module.css'

/** Reads the bundle of a run and verifies it with the published keys. */
async function verifyHere(runId: string, signal: AbortSignal) {
  const [{ verifyRunBundle }, keys] = await Promise.all([
    import('@custos/proof'),
    call(client, gcrumbsPublicKey),
  ])
  const lines: unknown[] = []
  for await (const line of call(client, orchestratorBundle, runId, { signal })) lines.push(line)
  return verifyRunBundle(lines, keys)
}

export function Receipts({ run }: { readonly run: Run }) {
  const { can } = useSession()
  const { data, error } = useCall(orchestratorReceipts, [run.run_id])
  const proves = can('decisions:read') && can('gcrumbs:read')
  return (
    <Section
      title="Receipts"
      about="One for each ended step, signed, chained by digest, without any text."
      actions={proves && <SaveBundle runId={run.run_id} />}
    >
      {error && <ErrorState error={error} />}
      {proves && <VerifyRun runId={run.run_id} />}
      {data && data.count > 0 && (
        <details>
          <summary>{counted(data.count, 'receipt')}</summary>
          <CodeBlock label="Receipts" text={JSON.stringify(data.receipts, null, 2)} />
        </details>
      )}
    </Section>
  )
}

function VerifyRun({ runId }: { readonly runId: string }) {
  const verify = useMutation({
    mutationFn: (stop: AbortController) => verifyHere(runId, stop.signal),
  })
  return (
    <div className={css['verify']}>
      <div className={css['acts']}>
        <Button
          icon={ShieldCheck}
          busy={verify.isPending}
          onClick={() => verify.mutate(new AbortController())}
        >
          Verify the run here
        </Button>
        {verify.isPending && <Button onClick={() => verify.variables.abort()}>Cancel</Button>}
      </div>
      {verify.error && <ErrorState error={verify.error} />}
      {verify.data && <VerdictView verdict={verify.data} />}
    </div>
  )
}

function SaveBundle({ runId }: { readonly runId: string }) {
  const save = useMutation({
    mutationFn: () => saveLines(call(client, orchestratorBundle, runId), `run-${runId}.ndjson`),
  })
  return (
    <>
      <Button icon={Download} busy={save.isPending} onClick={() => save.mutate()}>
        Save the bundle
      </Button>
      {save.error && <ErrorState error={save.error} />}
    </>
  )
}
