// One policy: its rule, a comparison of its versions, and its results.

import {
  governanceDeletePolicy,
  governanceGetPolicy,
  governanceUpdatePolicy,
} from '@custos/client/operations'
import type { GovernanceGetPolicyReply } from '@custos/client/types'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useUrlState } from '../../api/url-state.ts'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { Facts, inWords, Pill } from '../../parts/display.tsx'
import { Form, SelectField } from '../../parts/form.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { labelOf } from './config-fields.tsx'
import css from './policies.module.css'
import { ActionPill } from './policies.tsx'
import { PolicyForm } from './policy-form.tsx'
import { ResultsTable } from './results.tsx'

type Version = GovernanceGetPolicyReply['history'][number]

export function OnePolicy() {
  const id = String(useParams({ strict: false })['policyId'])
  const { data, error, request } = useCall(governanceGetPolicy, [id, { include_deleted: true }])
  return (
    <>
      <PageHeader
        title={data?.name ?? 'Policy'}
        about={data?.description}
        request={request}
        actions={data && !data.deleted && <PolicyButtons policy={data} />}
      />
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && <PolicyBody policy={data} />}
    </>
  )
}

function PolicyBody({ policy }: { readonly policy: GovernanceGetPolicyReply }) {
  const state = policy.deleted ? (
    <Pill tone="bad">deleted</Pill>
  ) : policy.enabled ? (
    <Pill tone="good">in force</Pill>
  ) : (
    <Pill>off</Pill>
  )
  return (
    <>
      <Section title="In force now">
        <Facts
          of={[
            ['State', state],
            ['Type', inWords(policy.policy_type)],
            ['When violated', <ActionPill key="a" action={policy.action} />],
            ['Order', policy.priority],
            ['Version', policy.version],
            ['Changed', <Time key="t" value={policy.updated_at} />],
            ['Changed by', policy.changed_by],
            ...Object.entries(policy.config).map(
              ([name, value]) => [labelOf(name), textOf(value)] as const,
            ),
          ]}
        />
      </Section>
      <Versions history={policy.history} />
      <Section title="Results of this policy">
        <ResultsTable policyId={policy.policy_id} />
      </Section>
    </>
  )
}

const textOf = (value: unknown): string =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')
    ? value.join(', ')
    : typeof value === 'string'
      ? value
      : JSON.stringify(value)

/** The settings of a version, by name. */
const saysOf = (version: Version | undefined): Readonly<Record<string, string>> =>
  version === undefined
    ? {}
    : {
        name: version.name,
        'what it is for': version.description,
        'when violated': inWords(version.action),
        order: String(version.priority),
        state: version.change === 'deleted' ? 'deleted' : version.enabled ? 'in force' : 'off',
        ...Object.fromEntries(
          Object.entries(version.config).map(([name, value]) => [inWords(name), textOf(value)]),
        ),
      }

/** Two versions side by side. The address selects them. */
function Versions({ history }: { readonly history: readonly Version[] }) {
  const [chosenNewer, setNewer] = useUrlState('newer')
  const [chosenOlder, setOlder] = useUrlState('older')
  const find = (text: string) => history.find(({ version }) => String(version) === text)
  const newer = find(chosenNewer) ?? history[0]
  const older = find(chosenOlder) ?? history[newer ? history.indexOf(newer) + 1 : 1]
  const options = history.map(
    ({ version, change, changed_at: at }) =>
      [String(version), `${version}, ${change} ${at.slice(0, 10)}`] as const,
  )
  if (!newer) return null
  const recorded = history.length === 100 ? 'The newest 100' : history.length
  return (
    <Section title="Versions" about={`${recorded} on record: who changed what, and when`}>
      {older && (
        <Form inline label="Versions to compare" onSubmit={() => undefined}>
          <SelectField
            label="Earlier"
            value={String(older.version)}
            onChange={setOlder}
            options={options}
          />
          <SelectField
            label="Later"
            value={String(newer.version)}
            onChange={setNewer}
            options={options}
          />
        </Form>
      )}
      <Comparison versions={older ? [older, newer] : [newer]} />
    </Section>
  )
}

function Comparison({ versions }: { readonly versions: readonly Version[] }) {
  const says = versions.map(saysOf)
  const names = [...new Set(says.flatMap((one) => Object.keys(one)))]
  return (
    <table className={css['versions']} aria-label="Versions side by side">
      <thead>
        <tr>
          <td />
          {versions.map(({ version, change }, i) => (
            <th key={i === 0 ? 'earlier' : 'later'} scope="col">
              Version {version}, {change}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row">changed</th>
          {versions.map(({ changed_at: at, changed_by: by }, i) => (
            <td key={i === 0 ? 'earlier' : 'later'}>
              <Time value={at} /> by {by}
            </td>
          ))}
        </tr>
        {names.map((name) => {
          const differs = new Set(says.map((one) => one[name])).size > 1
          return (
            <tr key={name} data-differs={differs}>
              <th scope="row">
                {name}
                {differs && <span className={css['mark']}>changed</span>}
              </th>
              {says.map((one, i) => (
                <td key={i === 0 ? 'earlier' : 'later'}>{one[name] ?? '–'}</td>
              ))}
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

function PolicyButtons({ policy }: { readonly policy: GovernanceGetPolicyReply }) {
  const { can } = useSession()
  const [open, setOpen] = useState<'edit' | 'delete' | null>(null)
  const update = useAction(governanceUpdatePolicy)
  const remove = useAction(governanceDeletePolicy)
  if (!can('governance:admin')) return null
  const id = policy.policy_id
  const close = () => setOpen(null)
  return (
    <>
      <Button onClick={() => setOpen('edit')}>Change</Button>
      <Button
        busy={update.isPending}
        onClick={() => update.mutate([id, { enabled: !policy.enabled }])}
      >
        {policy.enabled ? 'Switch off' : 'Switch on'}
      </Button>
      <Button kind="danger" onClick={() => setOpen('delete')}>
        Delete
      </Button>
      {update.error && <ErrorState error={update.error} />}
      <Dialog title="Change the policy" open={open === 'edit'} onClose={close}>
        <PolicyForm policy={policy} onDone={close} />
      </Dialog>
      <ConfirmDialog
        title="Delete this policy"
        verb="Delete"
        open={open === 'delete'}
        onClose={close}
        act={() => remove.mutateAsync([id])}
      >
        <p>From the next request on it applies no more. Its versions and results stay readable.</p>
      </ConfirmDialog>
    </>
  )
}
