// Compositions: artifacts and data under one target, with the licences that apply.

import { call } from '@custos/client/core'
import {
  compositionsCompose,
  compositionsGet,
  compositionsList,
  compositionsStats,
  compositionsVerify,
} from '@custos/client/operations'
import type { Composition } from '@custos/client/types'
import { client } from '../../api/connection.ts'
import { useCall, useList, usePage } from '../../api/use-call.ts'
import { Pill } from '../../parts/display.tsx'
import { Section } from '../../parts/page-header.tsx'
import { MemberTable } from './members.tsx'
import css from './registries.module.css'
import { AUTHORITY_FIELDS, authorityOf, linesOf, type RegistrySpec } from './registry.ts'

export const compositions: RegistrySpec<Composition, Composition> = {
  title: 'Compositions',
  about: 'Artifacts and data under one target, with the licences that apply together.',
  admin: 'artifacts:admin',
  nameOf: ({ target_ref }) => target_ref,
  idOf: ({ composition_id }) => composition_id,
  columns: [
    { id: 'kind', header: 'Kind', cell: ({ composition_kind: kind }) => kind },
    { id: 'members', header: 'Members', numeric: true, cell: ({ member_count: n }) => n },
    { id: 'licence', header: 'Licence', cell: (row) => row.license_verdict?.expression ?? '–' },
  ],
  useRows: () => useList(compositionsList, [usePage()], (reply) => reply.compositions),
  useCounts: () => useCall(compositionsStats, []).data,
  useOne: (id) => useCall(compositionsGet, [id]),
  verify: compositionsVerify,
  facts: (one) => [
    ['Kind', one.composition_kind],
    ['On behalf of', one.authority.human_principal],
    ['Trust tier', `${one.authority.trust_tier}, required ${one.required_trust_tier}`],
    ['Licence of the whole', one.license_verdict?.expression],
  ],
  Members: ({ record }) => (
    <>
      <Section title="Members">
        <MemberTable
          label="Members"
          headers={['Member', 'Licence', 'In the registries']}
          rows={record.members.map(({ ref_id: ref, license, found }) => [
            ref,
            [ref, license, found ? `${found.kind}, ${found.status}` : 'only claimed'],
          ])}
        />
      </Section>
      {record.license_verdict && <Licences verdict={record.license_verdict} />}
    </>
  ),
  register: {
    verb: 'Compose',
    fields: [
      { name: 'target', label: 'Name of the result', hint: 'For example stacks/support' },
      { name: 'kind', label: 'Kind', initial: 'stack' },
      {
        name: 'members',
        label: 'Members',
        hint: 'One a line: id or name | licence | certified, where the member is',
        kind: 'lines',
      },
      ...AUTHORITY_FIELDS,
    ],
    async send(filled) {
      const { target = '', kind = '', members } = filled
      const reply = await call(client, compositionsCompose, {
        target_ref: target,
        composition_kind: kind,
        members: linesOf(members).map(memberOf),
        authority: authorityOf(filled),
      })
      return 'detail' in reply ? reply.detail.composition_id : reply.composition_id
    },
  },
}

function memberOf(line: string) {
  const [ref_id = '', license = '', certified = ''] = line.split('|').map((part) => part.trim())
  return { ref_id, license, certified: certified === 'certified' }
}

const Licences = ({
  verdict,
}: {
  readonly verdict: NonNullable<Composition['license_verdict']>
}) => (
  <Section title="Licences">
    <div className={css['conflicts']}>
      <p>
        <Pill tone={verdict.compatible ? 'good' : 'bad'}>
          {verdict.compatible ? 'compatible' : 'not compatible'}
        </Pill>{' '}
        {verdict.detail}
      </p>
      {verdict.reasons.map(({ rule, detail, source }) => (
        <p key={rule}>
          <strong>{rule}</strong>: {detail} {source}
        </p>
      ))}
      {verdict.reported.map(({ license, why }) => (
        <p key={license}>
          No rule decides <strong>{license}</strong>: {why}
        </p>
      ))}
    </div>
  </Section>
)
