// A document from the service as JSON, with its verification in this browser.

import { call } from '@custos/client/core'
import { gcrumbsPublicKey } from '@custos/client/operations'
import { ShieldCheck } from 'lucide-react'
import { useState } from 'react'
import { client } from '../api/connection.ts'
import { Button } from './button.tsx'
import { CodeBlock } from './code.tsx'
import { Dialog } from './dialog.tsx'
import css from './json-view.module.css'
import { ErrorState } from './states.tsx'

type Verdict = Awaited<ReturnType<typeof import('@custos/client/verify').verify>>

/** Verifies in the browser with the keys that the service publishes. */
async function verifyHere(value: unknown): Promise<Verdict> {
  const [{ verify }, keys] = await Promise.all([
    import('@custos/client/verify'),
    call(client, gcrumbsPublicKey),
  ])
  return verify(value, { keys })
}

export function VerifyHere({ value }: { readonly value: unknown }) {
  const [verdict, setVerdict] = useState<Verdict | null>(null)
  const [error, setError] = useState<unknown>(null)
  const run = async () => {
    setError(null)
    try {
      setVerdict(await verifyHere(value))
    } catch (caught) {
      setError(caught)
    }
  }
  return (
    <div className={css['verify']}>
      <Button icon={ShieldCheck} onClick={() => void run()}>
        Verify here
      </Button>
      {error !== null && <ErrorState error={error} />}
      {verdict && <VerdictView verdict={verdict} />}
    </div>
  )
}

export function VerdictView({ verdict }: { readonly verdict: Verdict }) {
  return (
    <div role="status" className={css['verdict']}>
      <strong data-valid={verdict.valid}>{verdict.valid ? 'VALID' : 'NOT VALID'}</strong>
      <span className={css['note']}>
        Checked in this browser with the keys that this service publishes.
        {verdict.reason && ` ${verdict.reason}.`}
      </span>
      <ul>
        {verdict.checks.map((check) => (
          <li key={check.name} data-valid={check.ok}>
            {check.ok ? '✓' : '✗'} {check.name.replaceAll('_', ' ')}
          </li>
        ))}
        {verdict.not_checked.map((name) => (
          <li key={name}>Not checked: {name.replaceAll('_', ' ')}</li>
        ))}
      </ul>
    </div>
  )
}

export function JsonDialog(props: {
  readonly title: string
  readonly value: unknown
  readonly open: boolean
  readonly onClose: () => void
  /** Whether the document has a signature. */
  readonly signed?: boolean | undefined
}) {
  const { title, value, open, onClose, signed } = props
  return (
    <Dialog wide title={title} open={open} onClose={onClose}>
      <div className={css['stack']}>
        {signed && <VerifyHere value={value} />}
        <CodeBlock text={JSON.stringify(value, null, 2) ?? ''} label="JSON" />
      </div>
    </Dialog>
  )
}
