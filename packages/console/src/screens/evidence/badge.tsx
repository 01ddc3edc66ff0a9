// The conformance badge as a web page shows it, and the audits behind it.

import { complianceHistory } from '@custos/client/operations'
import { useState } from 'react'
import { useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/code.tsx'
import { JsonDialog } from '../../parts/json-view.tsx'
import { Section } from '../../parts/page-header.tsx'
import { ErrorState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import css from './evidence.module.css'

const AUDITS = 10

export function Badge({ tenantId }: { readonly tenantId: string }) {
  const path = `/v1/cloud/compliance/badge/${encodeURIComponent(tenantId)}.svg`
  return (
    <Section
      title="Conformance badge"
      about="Anybody may see it. It says how many capabilities passed in the newest audit, which the check “conformance” makes."
    >
      <img className={css['badge']} src={path} alt="Conformance badge of this tenant" />
      <CodeBlock label="Markdown" text={`![conformance](${location.origin}${path})`} />
      <Audits tenantId={tenantId} />
    </Section>
  )
}

function Audits({ tenantId }: { readonly tenantId: string }) {
  const { data, error } = useCall(complianceHistory, [tenantId, { limit: AUDITS }])
  const [shown, setShown] = useState<string | null>(null)
  if (error) return <ErrorState error={error} />
  const audit = data?.find(({ id }) => id === shown)
  return (
    <>
      <ul className={css['audits']} aria-label="Audits">
        {data?.map(({ id, audited_at: at, conformance_rate: rate, capabilities }) => (
          <li key={id}>
            <Time value={at} />
            <span>
              {Math.round(rate * 100)} %, {capabilities.join(', ')}
            </span>
            <Button aria-label={`Show the audit of ${at}`} onClick={() => setShown(id)}>
              Show
            </Button>
          </li>
        ))}
      </ul>
      <JsonDialog
        title="Conformance audit"
        value={audit?.report_json ?? null}
        open={audit !== undefined}
        onClose={() => setShown(null)}
        signed
      />
    </>
  )
}
