// Billing: the plan with its limits, and the pages of the payment provider.

import {
  billingCancel,
  billingCheckout,
  billingPortal,
  billingSubscription,
  tenantsCurrentUsage,
} from '@custos/client/operations'
import type { BillingSubscriptionReply } from '@custos/client/types'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { Facts, formatNumber, inWords, Meter, Pill } from '../../parts/display.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import css from './billing.module.css'

export function Billing() {
  const { caller } = useSession()
  const tenant = caller.tenant_id ?? ''
  const { data, error, request } = useCall(billingSubscription, [tenant], {
    enabled: tenant !== '',
  })
  return (
    <>
      <PageHeader
        title="Billing"
        about="The plan of the tenant, and what is used of it."
        request={request}
      />
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && <Subscription subscription={data} />}
      <PlanUse />
    </>
  )
}

const NOT_CONFIGURED =
  'Billing is not configured: this service takes no payments, and its operator sets the plan.'

const TONES = {
  none: 'plain',
  checkout_open: 'plain',
  trialing: 'good',
  active: 'good',
  canceling: 'warn',
  past_due: 'bad',
  unpaid: 'bad',
  canceled: 'plain',
} as const

function Subscription({ subscription }: { readonly subscription: BillingSubscriptionReply }) {
  const { status } = subscription
  return (
    <Section
      title="Plan"
      about={subscription.configured ? undefined : NOT_CONFIGURED}
      actions={subscription.configured && <Payment subscription={subscription} />}
    >
      <Facts
        of={[
          ['Plan', subscription.plan],
          [
            'Subscription',
            <Pill key="s" tone={TONES[status]}>
              {inWords(status)}
            </Pill>,
          ],
          [
            'Paid from',
            subscription.current_period_start && <Time value={subscription.current_period_start} />,
          ],
          [
            subscription.cancel_at_period_end ? 'Ends' : 'Paid until',
            subscription.current_period_end && <Time value={subscription.current_period_end} />,
          ],
          ['In force until', subscription.grace_until && <Time value={subscription.grace_until} />],
        ]}
      />
    </Section>
  )
}

/** Whether a URL can be a page of the payment provider: on HTTPS, or on 127.0.0.1 in tests. */
const isPage = (url: string): boolean => /^https:\/\/|^http:\/\/127\.0\.0\.1:\d+\//.test(url)

function Payment({ subscription }: { readonly subscription: BillingSubscriptionReply }) {
  const { can } = useSession()
  const checkout = useAction(billingCheckout)
  const portal = useAction(billingPortal)
  if (!can('keys:admin')) return null
  const { tenant_id: tenant, subscription_id: paid, status } = subscription
  const page = checkout.data?.checkout_url ?? portal.data?.portal_url
  const failure = checkout.error ?? portal.error
  return (
    <>
      {(status === 'none' || status === 'checkout_open' || status === 'canceled') && (
        <Button
          kind="primary"
          busy={checkout.isPending}
          onClick={() => checkout.mutate([{ plan: 'pro' }])}
        >
          Change to pro
        </Button>
      )}
      {paid !== null && (
        <Button busy={portal.isPending} onClick={() => portal.mutate([tenant])}>
          Invoices and cards
        </Button>
      )}
      {(status === 'active' || status === 'trialing') && <CancelPlan tenant={tenant} />}
      {page !== undefined && isPage(page) && (
        <a href={page} rel="noreferrer">
          Continue on the page of the payment provider
        </a>
      )}
      {failure && <ErrorState error={failure} />}
    </>
  )
}

function CancelPlan({ tenant }: { readonly tenant: string }) {
  const [asking, setAsking] = useState(false)
  const cancel = useAction(billingCancel)
  return (
    <>
      <Button kind="danger" onClick={() => setAsking(true)}>
        Cancel the plan
      </Button>
      <ConfirmDialog
        title="Cancel the plan"
        open={asking}
        onClose={() => setAsking(false)}
        verb="Cancel the plan"
        act={() => cancel.mutateAsync([tenant, { at: 'period_end' }])}
      >
        <p>It ends with its period. Data stay; the limits of starter hold afterwards.</p>
      </ConfirmDialog>
    </>
  )
}

function PlanUse() {
  const { can } = useSession()
  const { data, error } = useCall(tenantsCurrentUsage, [], { enabled: can('decisions:read') })
  if (error) return <ErrorState error={error} />
  if (!data) return null
  const { included_allotment: included, governed_decisions: governed } = data
  return (
    <Section
      title="Used in this period"
      about={
        <>
          <Time value={data.period.start} /> to <Time value={data.period.end} />, UTC
        </>
      }
    >
      <div className={css['limits']}>
        {included === null ? (
          <p>
            Governed decisions <strong>{formatNumber(governed)}</strong>, no limit stated
          </p>
        ) : (
          <Meter label="Governed decisions" value={governed} max={included} />
        )}
        {data.limits.map(({ quota, used, limit }) => (
          <Meter key={quota} label={inWords(quota)} value={used} max={limit} />
        ))}
      </div>
      {data.limits.length === 0 && <p>The plan has no limits.</p>}
    </Section>
  )
}
