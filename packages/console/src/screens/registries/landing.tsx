// Landing certificates: what an artifact is, its data, authority, checks and permissions.

import { call } from '@custos/client/core'
import {
  landingGet,
  landingIssue,
  landingList,
  landingStats,
  landingVerify,
} from '@custos/client/operations'
import type { LandingCertificate } from '@custos/client/types'
import { client } from '../../api/connection.ts'
import { useCall, useList, usePage } from '../../api/use-call.ts'
import { CodeBlock } from '../../parts/code.tsx'
import { inWords, Pill } from '../../parts/display.tsx'
import { Section } from '../../parts/page-header.tsx'
import { Layers, MemberTable } from './members.tsx'
import { AUTHORITY_FIELDS, authorityOf, linesOf, objectOf, type RegistrySpec } from './registry.ts'

export const landing: RegistrySpec<LandingCertificate, LandingCertificate> = {
  title: 'Landing',
  about: 'Certificates of what goes into production: artifact, data, authority, checks.',
  admin: 'compliance:admin',
  nameOf: ({ artifact_ref }) => artifact_ref,
  idOf: ({ certificate_id }) => certificate_id,
  columns: [
    { id: 'base', header: 'Base model', cell: ({ base_model_ref }) => base_model_ref },
    {
      id: 'checks',
      header: 'Checks',
      cell: ({ conformance }) => (conformance ? inWords(conformance.result) : '–'),
    },
    {
      id: 'person',
      header: 'On behalf of',
      cell: ({ authority }) => authority.human_principal ?? '–',
    },
  ],
  useRows: () => useList(landingList, [usePage()], (reply) => reply.certificates),
  useCounts: () => useCall(landingStats, []).data,
  useOne: (id) => useCall(landingGet, [id]),
  verify: landingVerify,
  facts: (one) => [
    ['Base model', one.base_model_ref],
    ['Kind', one.kind],
    ['On behalf of', one.authority.human_principal],
    ['Trust tier', one.authority.trust_tier],
    ['May do', one.permitted_actions.join(', ')],
  ],
  Members: ({ record }) => (
    <>
      {record.conformance && <Checks conformance={record.conformance} />}
      <Layers hashes={record.layer_hashes} />
      <Section title="Data it was trained on">
        <CodeBlock label="Data" text={JSON.stringify(record.data_provenance, null, 2)} />
      </Section>
    </>
  ),
  register: {
    verb: 'Issue a certificate',
    fields: [
      { name: 'ref', label: 'Artifact', hint: 'Its name' },
      { name: 'base', label: 'Base model' },
      { name: 'kind', label: 'Kind', initial: 'lora' },
      {
        name: 'layers',
        label: 'Digests of the layers',
        hint: 'SHA-256, one a line, in order',
        kind: 'lines',
      },
      {
        name: 'data',
        label: 'Data',
        hint: 'JSON with merkle_root, as the page of a corpus shows it',
        kind: 'json',
        initial: JSON.stringify({ merkle_root: '' }, null, 2),
      },
      ...AUTHORITY_FIELDS,
      { name: 'may', label: 'It may', hint: 'One action a line', kind: 'lines', optional: true },
    ],
    async send(filled) {
      const { ref = '', base = '', kind = '', layers, data, may } = filled
      const reply = await call(client, landingIssue, {
        artifact_ref: ref,
        base_model_ref: base,
        kind,
        layer_hashes: linesOf(layers),
        data_provenance: objectOf(data, 'Data'),
        authority: authorityOf(filled),
        permitted_actions: linesOf(may),
      })
      return 'detail' in reply ? reply.detail.certificate_id : reply.certificate_id
    },
  },
}

const Checks = ({
  conformance,
}: {
  readonly conformance: NonNullable<LandingCertificate['conformance']>
}) => (
  <Section title="Checks of the service">
    <p>
      <Pill tone={conformance.result === 'pass' ? 'good' : 'warn'}>
        {inWords(conformance.result)}
      </Pill>
    </p>
    <MemberTable
      label="Checks"
      headers={['Check', 'Result']}
      rows={Object.entries(conformance.per_policy).map(([name, result]) => [
        name,
        [inWords(name), inWords(String(result))],
      ])}
    />
  </Section>
)
