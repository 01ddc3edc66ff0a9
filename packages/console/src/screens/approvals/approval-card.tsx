// A pending approval within another screen: the proposal of the record, and the decision.

import { approvalsRequest } from '@custos/client/operations'
import { Link } from '@tanstack/react-router'
import { useSession } from '../../api/session.tsx'
import { useCall } from '../../api/use-call.ts'
import { CodeBlock } from '../../parts/code.tsx'
import { inWords } from '../../parts/display.tsx'
import { Section } from '../../parts/page-header.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import css from './approvals.module.css'
import { Decide } from './decide.tsx'

export function ApprovalCard({ requestId }: { readonly requestId: string }) {
  const { can } = useSession()
  const { data, error } = useCall(approvalsRequest, [requestId], {
    enabled: can('compliance:read'),
  })
  if (!can('compliance:read'))
    return (
      <Section title="It waits for an approval">
        <p>Your scopes do not cover approval requests: somebody else decides.</p>
      </Section>
    )
  if (error) return <ErrorState error={error} />
  if (!data) return <LoadingState />
  if (data.status !== 'pending') return null
  return (
    <>
      <Section
        title="It waits for an approval"
        about={
          <>
            The request expires <Time value={data.expires_at} relative />.{' '}
            <Link to="/approvals/$requestId" params={{ requestId }} search={{}}>
              All about the request
            </Link>
          </>
        }
      >
        <ul className={css['policies']}>
          {data.policies.map(({ policy_id, name, reason }) => (
            <li key={policy_id}>
              <strong>{name}</strong>: {inWords(reason)}
            </li>
          ))}
        </ul>
        <CodeBlock label="Request" text={JSON.stringify(data.request, null, 2)} />
      </Section>
      <Decide request={data} />
    </>
  )
}
