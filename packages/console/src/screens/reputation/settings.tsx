// What the tenant requires of judgments, outcomes and reviews.

import { cgrChangeSettings, cgrSettings } from '@custos/client/operations'
import { useSession } from '../../api/session.tsx'
import { useAction, useCall } from '../../api/use-call.ts'
import { CheckField, Form } from '../../parts/form.tsx'
import { Section } from '../../parts/page-header.tsx'
import { ErrorState } from '../../parts/states.tsx'

const RULES = [
  ['compare_credentials', 'Refuse outcomes and reviews by the credential that made the decision'],
  ['judgments_final', 'A judgment is final once its outcome is known'],
] as const

export function CgrSettingsForm() {
  const { can } = useSession()
  const { data, error } = useCall(cgrSettings, [])
  const change = useAction(cgrChangeSettings)
  const may = can('governance:admin')
  return (
    <Section title="Rules" about="They make scores harder to manipulate.">
      {error && <ErrorState error={error} />}
      {change.error && <ErrorState error={change.error} />}
      {data && may && (
        <Form label="Rules" onSubmit={() => undefined}>
          {RULES.map(([name, label]) => (
            <CheckField
              key={name}
              label={label}
              checked={data[name]}
              onChange={(checked) => change.mutate([{ [name]: checked }])}
            />
          ))}
        </Form>
      )}
      {data && !may && (
        <ul>
          {RULES.map(([name, label]) => (
            <li key={name}>
              {label}: {data[name] ? 'yes' : 'no'}
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}
